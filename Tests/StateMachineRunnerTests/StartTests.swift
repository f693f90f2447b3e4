import Foundation
import Glibc
import Logging
import Processes
import StateMachineDeclaration
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineRunner

/// How the runner, and the programs beside it, begin in surroundings that are not as usual.
@Suite(.bounded) struct StartTests {
    private static let text = """
        start: idle
        states:
          idle: {run: [/bin/sh, -c, 'echo $$ >WITNESS; exec sleep 1000']}
          other: {}
        """

    /// Runs a script of the shell; returns its status, and what it wrote.
    private func shell(_ script: String) async throws -> (status: CInt, said: String) {
        try await withTemporaryDirectory { directory in
            let process = try SpawnedProcess(
                ["/bin/sh", "-c", script],
                environment: ["DIRECTORY": directory],
                output: "\(directory)/output"
            )
            return (try await process.ended(), process.said)
        }
    }

    @Test(arguments: [BuiltProduct.statemachine, .statectl, .runner, .web])
    func tooFewDescriptorsAreSaid(_ product: BuiltProduct) async throws {
        for limit in [5, 10, 14, 18, 22, 24] {
            let words = product == .statectl ? "get" : "--runtime-directory $DIRECTORY/run"
            let (status, said) = try await self.shell(
                "ulimit -n \(limit); exec '\(try product.path)' \(words)"
            )
            #expect(status == (product == .statectl ? 69 : 78), "\(limit): \(said)")
            #expect(said.contains("the limit of \(limit) open files leaves room for "), "\(said)")
        }
    }

    @Test(arguments: ["--help", "-h"]) func theHelpIsPrinted(_ option: String) async throws {
        let (status, said) = try await self.shell(
            "exec '\(try BuiltProduct.runner.path)' \(option)"
        )
        #expect(status == 0 && said.contains("USAGE: statemachine-runner"), "\(said)")
    }

    /// What is opened first would take their place, and commands would write into it.
    @Test func closedDescriptorsAreOpenedToNothing() async throws {
        try await withRunningMachine(Self.text) { machine in
            try await machine.startDaemon()
            try await machine.startRunner(in: "exec 0<&- 1>&- 2>&-")
            let child = try await machine.witness.next()
            for descriptor in 1...2 {
                let link = "/proc/\(child)/fd/\(descriptor)"
                var target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
                // It may not have come back from the line that it wrote.
                while target == machine.witness.path {
                    try await Task.sleep(for: .milliseconds(10))
                    target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
                }
                #expect(target == "/dev/null")
            }
            let (_, said) = try await self.shell(
                "exec '\(try BuiltProduct.statectl.path)' --runtime-directory \(machine.run) hold --before other -- "
                    + "/bin/sh -c 'for n in 0 1 2; do readlink /proc/$$/fd/$n; done >$DIRECTORY/output' "
                    + "0<&- 1>&- 2>&-"
            )
            #expect(said.hasPrefix("/dev/null\n") && said.hasSuffix("\n/dev/null\n"), "\(said)")
        }
    }

    /// A command that was being started when its runner was killed has the lock until it runs.
    @Test func aRunnerWaitsForWhatAKilledOneWasStarting() async throws {
        try await withTemporaryDirectory { directory in
            // The shell writes its number, leaves the lock to another process and ends.
            let script = """
                umask 077; exec 9<>"$1/runner.lock"; flock 9; echo $$ >&9
                sh -c 'read -r line <"$1/go"; sleep 0.1' - "$1" & exit
                """
            let go = "\(directory)/go"
            #expect(mkfifo(go, 0o600) == 0)
            let killed = try SpawnedProcess(
                ["/bin/sh", "-c", script, "-", directory],
                output: "\(directory)/said"
            )
            #expect(try await killed.ended() == 0)
            let other = open("\(directory)/runner.lock", O_RDWR)
            defer { close(other) }
            #expect(flock(other, LOCK_EX | LOCK_NB) != 0)
            async let released: Void = blocking {
                try "\n".write(toFile: go, atomically: false, encoding: .utf8)
            }
            _ = try await blocking { try LockFile(at: "\(directory)/runner.lock") }
            try await released
        }
    }

    /// One that was killed has it until the kernel has taken it apart.
    @Test func aLockIsWaitedForWhoseOwnerIsStillThere() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/runner.lock"
            let held = try LockFile(at: path)
            // Who finds it taken reads in it whose it is.
            let reads = inotify_init1(O_CLOEXEC)
            defer { close(reads) }
            #expect(inotify_add_watch(reads, path, UInt32(IN_ACCESS)) >= 0)
            let owner = Task {
                try await blocking {
                    var event = [UInt8](repeating: 0, count: 64)
                    #expect(read(reads, &event, event.count) > 0)
                    flock(held.descriptor, LOCK_UN)
                }
            }
            let next = try await blocking { try LockFile(at: path) }
            try await owner.value
            withExtendedLifetime((held, next)) {}
        }
    }

    @Test func aStateDirectoryMayBeALink() async throws {
        try await withRunningMachine(Self.text) { machine in
            mkdir("\(machine.directory)/real", 0o700)
            symlink("real", "\(machine.directory)/link")
            try await machine.startDaemon()
            try await machine.startRunner(memory: "link")
            _ = try await machine.witness.next()
            let record = "\(machine.directory)/real/runner-record.json"
            #expect(FileManager.default.fileExists(atPath: record), "\(machine.said)")
        }
    }

    @Test func whatWorksAMomentLaterIsNotWarnedOf() async throws {
        try await withRunningMachine(Self.text) { machine in
            try await machine.startRunner()
            try await machine.startDaemon()
            _ = try await machine.witness.next()
            #expect(!machine.said.contains("warning"), "\(machine.said)")
            #expect(!machine.said.contains("no connection"), "\(machine.said)")
            let report = "\(machine.run)/runner.json"
            #expect(FileManager.default.fileExists(atPath: report))
        }
    }

    /// In a container without an init, all that its commands leave behind is the runner's.
    @Test(.enabled(if: geteuid() == 0)) func theFirstProcessWaitsForWhatOthersLeave() async throws {
        let text = """
            start: idle
            events: {go: {}}
            states:
              idle:
                run: [/bin/sh, -c, '(setsid /bin/true &) ; (setsid /bin/true &) ; sleep 0.1; echo "$(ps -e -o stat= | grep -c Z) $PPID" >WITNESS; exec sleep 1000']
            """
        try await withRunningMachine(text) { machine in
            try await machine.startDaemon()
            let unshare = try machine.spawnRunner(
                nil,
                through: ["/usr/bin/unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
            )
            #expect(try await machine.witness.next() == "0 2", "\(machine.said)")
            try await unshare.end(by: SIGKILL)
        }
    }

    /// The disk may have filled since the record was written.
    @Test func aCommandThatCannotBeRememberedIsNotBegun() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/memory"
            let host = try await ChildHost(
                remembering: MemoryDirectory(path),
                log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let text = "start: idle\nstates: {idle: {run: /bin/true, done: idle}}"
            let declaration = try #require(DeclarationReading(Array(text.utf8)).declaration)
            let label = MachineLabel(machine: "one", instance: nil, directory: directory)
            let order = CommandOrder(
                name: CommandName(label, state: "idle", .run, seq: 1),
                title: "run of idle",
                words: ["/bin/true"],
                input: [],
                environment: [],
                command: try #require(declaration.states[0].run).command
            )
            try FileManager.default.removeItem(atPath: path)
            await #expect(throws: CommandHostError.self) { try await host.start(order) }
            #expect(try await host.known(of: label).isEmpty)
            #expect(mkdir(path, 0o700) == 0)
            try await host.start(order)
            #expect(try await host.end(of: order.name)?.kind == .exit(0))
        }
    }

    /// It has paused between its attempts to find the daemon, and to connect again.
    @Test func aWaitThatHasPausedComesToRest() async throws {
        try await withRunningMachine(Self.text) { machine in
            let wait = try SpawnedProcess(
                [
                    try BuiltProduct.statectl.path, "--runtime-directory", machine.run, "wait",
                    "other",
                ],
                environment: [:],
                output: "\(machine.directory)/wait.log"
            )
            while wait.said.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            try await machine.startDaemon()
            while !wait.said.contains("connected\n") {
                try await Task.sleep(for: .milliseconds(10))
            }
            try await comesToRest(wait.pid)
            #expect(try await wait.end() == -SIGTERM)
        }
    }

    @Test func atRestNoTimerRuns() async throws {
        try await withRunningMachine(Self.text) { machine in
            try await machine.start()
            let child = try await machine.witness.next()
            let hold = try SpawnedProcess(
                [
                    try BuiltProduct.statectl.path, "--runtime-directory", machine.run, "hold",
                    "--before", "other", "--", "/bin/sh", "-c",
                    "echo held >\(machine.witness.path); exec sleep 1000",
                ],
                environment: [:],
                output: "\(machine.directory)/hold.log"
            )
            #expect(try await machine.witness.next() == "held", "\(hold.said) \(child)")
            try await comesToRest(machine.runner.pid)
            try await comesToRest(hold.pid)
            #expect(try await hold.end() == 143)
        }
    }

    /// Nothing else in the tests is sent this signal.
    private static let signal = SIGURG

    @Test(.timeLimit(.minutes(1))) func aSignalIsNoticedFromTheFirstMomentOn() async {
        for _ in 0..<200 {
            var signals = Signals.stream([Self.signal]).makeAsyncIterator()
            kill(getpid(), Self.signal)
            #expect(await signals.next() == Self.signal)
        }
    }

    @Test(.timeLimit(.minutes(1))) func eachListenerHasItAndTheLastThatGoesEndsIt() async {
        let meanings = [(number: SIGWINCH, meaning: "wider")]
        do {
            var first = Signals.stream(of: meanings).makeAsyncIterator()
            do {
                var second = Signals.stream([SIGWINCH]).makeAsyncIterator()
                kill(getpid(), SIGWINCH)
                #expect(await first.next() == "wider")
                #expect(await second.next() == SIGWINCH)
            }
            kill(getpid(), SIGWINCH)
            #expect(await first.next() == "wider")
        }
        #expect(Self.hasUsualEffect(SIGWINCH))
    }

    private static func hasUsualEffect(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
    }
}
