import Foundation
import Glibc
import Processes
import TestSupport
import Testing

/// What happens to commands when the daemon, the runner or the file changes.
@Suite(.bounded) struct RunnerLifeTests {
    /// A run that says when it begins and whether it was told to end, and waits for `go` before it
    /// succeeds.
    private static let working = """
        machine: life
        start: idle
        events: {go: {}, halt: {}}
        states:
          idle: {when: {go: working}}
          working:
            run:
              command: [/bin/sh, -c, 'trap "echo told >WITNESS; exit 1" TERM; echo $$ >WITNESS; read line <WITNESS.go & wait $!; exit 0']
              stop: 5sINTERRUPTED
            done: well
            failed: broken
            when: {halt: idle}
          well: {when: {go: working}}
          broken: {when: {go: working}}
        """

    private func run(
        interrupted: String = "",
        _ body: (RunningMachine) async throws -> Void
    ) async throws {
        let more = interrupted.isEmpty ? "" : "\n      interrupted: \(interrupted)"
        try await withRunningMachine(Self.working.replacing("INTERRUPTED", with: more), body)
    }

    /// Runs `body` when the command runs, as that process.
    private func atWork(
        interrupted: String = "",
        _ body: (RunningMachine, pid_t) async throws -> Void
    ) async throws {
        try await self.run(interrupted: interrupted) { machine in
            try await machine.start()
            _ = try await machine.ask("send go")
            try await body(machine, try #require(pid_t(try await machine.witness.next())))
        }
    }

    @Test func aKilledDaemonDoesNotEndWhatRuns() async throws {
        try await self.atWork { machine, _ in
            #expect(try await machine.daemon.end(by: SIGKILL) == -9)
            // It ends while there is no daemon to report to.
            try machine.go.open()
            try await machine.startDaemon()
            let waited = try await machine.ask(#"{"op":"wait","until":["well"]}"#)
            #expect(waited.state == "well" && waited.seq == 2, "\(machine.said)")
            #expect(machine.witness.rest() == [])
        }
    }

    /// The daemon has no history, and so begins a new numbering, in which another state has the stay of that number.
    @Test func theEndOfARunDoesNotCountForAStayOfAnotherNumbering() async throws {
        let text = """
            machine: numbers
            start: idle
            events: {go: {}, other: {}}
            states:
              idle: {when: {go: working, other: resting}}
              working:
                run: [/bin/sh, -c, 'echo works >WITNESS; read line <WITNESS.go']
                done: well
              resting:
                run: [/bin/sh, -c, 'echo rests >WITNESS; exec sleep 1000']
                done: wrong
              well: {}
              wrong: {}
            """
        try await withRunningMachine(text, isDurable: false) { machine in
            try await machine.start()
            #expect(try await machine.ask("send go").int("stay") == 1)
            #expect(try await machine.witness.next() == "works")
            #expect(try await machine.daemon.end(by: SIGKILL) == -9)
            try machine.go.open()
            try await machine.logged("the end of the command cannot be reported to the daemon")
            try await machine.startDaemon()
            #expect(try await machine.ask("send other").int("stay") == 1)
            #expect(try await machine.witness.next() == "rests", "\(machine.said)")
            #expect(try await machine.ask("get").state == "resting")
        }
    }

    @Test func whatAKilledRunnerLeftIsEndedAndRunAgain() async throws {
        try await self.atWork { machine, first in
            #expect(try await machine.runner.end(by: SIGKILL) == -9)
            #expect(kill(first, 0) == 0)
            try await machine.startRunner()
            #expect(try await machine.witness.next() == "told")
            let second = try #require(pid_t(try await machine.witness.next()))
            #expect(second != first)
            try machine.go.open()
            #expect(try await machine.ask(#"{"op":"wait","until":["well"]}"#).seq == 2)
        }
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGUSR2])
    func aStopEndsWhatRunsAndTheNextStartRunsItAgain(_ signal: CInt) async throws {
        try await self.atWork { machine, _ in
            #expect(try await machine.runner.end(by: signal) == 0)
            #expect(try await machine.witness.next() == "told")
            #expect(machine.witness.rest() == [])
            #expect(try await machine.ask("get").state == "working")
            #expect(!FileManager.default.fileExists(atPath: "\(machine.run)/runner.json"))
            try await machine.startRunner()
            _ = try await machine.witness.next()
            try machine.go.open()
            #expect(try await machine.ask(#"{"op":"wait","until":["well"]}"#).seq == 2)
        }
    }

    @Test func anInterruptionLeadsWhereTheFileSays() async throws {
        try await self.atWork(interrupted: "idle") { machine, _ in
            try await machine.runner.end()
            let watch = try await machine.watch()
            try await machine.startRunner()
            let moved = try await watch.next()
            #expect(moved.state == "idle" && moved.string("cause") == "interrupted")
        }
    }

    @Test func thereIsOneRunnerAtATime() async throws {
        try await self.atWork { machine, first in
            // Whether the second one keeps its record in the same place, in another, or nowhere.
            for (memory, what) in [
                ("memory", "uses "), ("other", "runs the commands "), (nil, "runs "),
            ] {
                let second = try machine.refusedRunner(memory: memory)
                #expect(try await second.ended() == 1)
                let pid = try machine.runner.pid
                #expect(
                    second.said.contains("another statemachine-runner (pid \(pid)) \(what)"),
                    "\(second.said)"
                )
                // What the first one says of itself stays.
                let report = try String(
                    contentsOfFile: "\(machine.run)/runner.json",
                    encoding: .utf8
                )
                #expect(report.contains("\"pid\":\(pid),"))
            }
            #expect(kill(first, 0) == 0 && machine.witness.rest() == [])
            // The doors are created anew, and the lock that kept others out is gone with the old
            // ones.
            try await machine.daemon.end()
            try FileManager.default.removeItem(atPath: machine.run)
            try await machine.startDaemon()
            _ = try await machine.ask("send halt")
            #expect(try await machine.witness.next() == "told")
            let late = try machine.refusedRunner(memory: "other")
            #expect(try await late.ended() == 1, "\(late.said)")
        }
    }

    /// Whoever is root may open it all the same, unless that right is taken away.
    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [
            ("memory", "belongs to uid 65534", [true, false]),
            ("memory/runner.lock", "is in the way", [true, false]),
            ("memory/runner-record.json", "cannot read", [false]),
            ("memory/runner-children.json", "cannot read", [false]),
            ("run/runner.lock", "is in the way", [true, false]),
        ]
    )
    func whatSomebodyElseOwnsEndsTheRunnerForGood(
        _ path: String,
        _ said: String,
        _ overriding: [Bool]
    ) async throws {
        try await self.run { machine in
            try makeDirectory("\(machine.directory)/memory")
            try makeDirectory(machine.run)
            let foreign = "\(machine.directory)/\(path)"
            if path != "memory" {
                try "[]".write(toFile: foreign, atomically: false, encoding: .utf8)
            }
            #expect(chmod(foreign, 0o700) == 0 && chown(foreign, 65534, 65534) == 0)
            let without = ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"]
            for mayOverride in overriding {
                let runner = try machine.spawnRunner(nil, through: mayOverride ? [] : without)
                #expect(try await runner.ended() == 78, "\(runner.said)")
                #expect(runner.said.contains(said), "\(runner.said)")
            }
        }
    }

    @Test(arguments: [(78, "broken: ["), (0, "start: idle\nstates: {idle: {final: true}}")])
    func whatAKilledRunnerLeftEndsThoughItsFileIsNoUse(
        _ status: Int32,
        _ text: String
    ) async throws {
        try await self.atWork { machine, _ in
            #expect(try await machine.runner.end(by: SIGKILL) == -9)
            #expect(machine.witness.rest() == [])
            try machine.write(text)
            let second = try machine.refusedRunner()
            #expect(try await second.ended() == status, "\(second.said)")
            #expect(try await machine.witness.next() == "told")
        }
    }

    @Test func aReloadBringsCommandsAndTakesThemAway() async throws {
        try await self.run { machine in
            let text = try String(contentsOfFile: machine.file, encoding: .utf8)
            let none = text.split(separator: "\n", omittingEmptySubsequences: false)
                .filter { line in
                    ["run:", "command:", "stop:", "done:", "failed:"].allSatisfy {
                        !line.contains($0)
                    }
                }
                .joined(separator: "\n")
            try machine.write(none)
            try await machine.startDaemon()
            let watch = try await machine.watch()
            let idle = try machine.refusedRunner()
            #expect(try await idle.ended() == 0)
            #expect(idle.said.contains("the file declares no command, ending"))
            _ = try await machine.ask("send go")
            _ = try await watch.next()

            // The file is newer than the daemon's declaration: nothing is begun.
            try machine.write(text)
            try await machine.startRunner()
            let log = try await machine.logged("starting nothing until the daemon is reloaded")
            #expect(!log.contains("begun"))
            try machine.daemon.send(SIGHUP)
            #expect(try await watch.next().type == "declared")
            _ = try await machine.witness.next()

            try machine.write(none)
            try machine.daemon.send(SIGHUP)
            #expect(try await watch.next().type == "declared")
            #expect(try await machine.witness.next() == "told")
            #expect(try await machine.runner.ended() == 0)
        }
    }

    @Test func whatIsRefusedIsTriedAgainUntilItIsTaken() async throws {
        try await self.atWork { machine, _ in
            let holder = try machine.connect()
            #expect(try await holder.ask(#"{"op":"hold","before":["well"]}"#).ok == true)
            try machine.go.open()
            try await machine.logged("the daemon did not accept the end of the command")
            #expect(try await machine.ask("get").state == "working")
            let watch = try await machine.watch()
            holder.vanish()
            #expect(try await watch.next().state == "well")
        }
    }

    @Test func aFileThatOthersCanWriteIsRefused() async throws {
        try await self.run { machine in
            chmod(machine.file, 0o666)
            let runner = try machine.refusedRunner()
            #expect(try await runner.ended() == 78)
            #expect(runner.said.contains("; commands are refused until you chmod "))
        }
    }

    /// Without a record nobody knows, after the runner was killed, that the command had been begun.
    @Test(arguments: ["idle", "again"])
    func whatFollowsAnInterruptionTakesARecord(_ interrupted: String) async throws {
        try await self.run(interrupted: interrupted) { machine in
            let runner = try machine.refusedRunner(memory: nil)
            #expect(try await runner.ended() == 78)
            #expect(
                runner.said.contains(
                    "\(machine.file): the run of working has \"interrupted\", but nothing records that it was begun; "
                        + "give a --state-directory"
                ),
                "\(runner.said)"
            )
        }
    }

    /// A file that comes with a reload is refused in the same way, and mended by another one.
    @Test func aReloadOfWhatTakesARecordBeginsNothing() async throws {
        try await self.run { machine in
            try await machine.startDaemon()
            let runner = try machine.spawnRunner(nil, memory: nil)
            try await machine.logged("connected")
            let text = try String(contentsOfFile: machine.file, encoding: .utf8)
            try machine.write(text.replacing("stop: 5s", with: "stop: 5s\n      interrupted: idle"))
            let watch = try await machine.watch()
            try machine.daemon.send(SIGHUP)
            #expect(try await watch.next().type == "declared")
            try await machine.logged("give a --state-directory")
            _ = try await machine.ask("send go")
            try machine.write(text)
            try machine.daemon.send(SIGHUP)
            _ = try await machine.witness.next()
            #expect(try await runner.end() == 0)
        }
    }

    /// Commands of another user, beside a runner that may not kill them, as in a container without that right.
    private static let unkillable = """
        machine: unkillable
        start: idle
        events: {go: {}}
        states:
          idle: {when: {go: working}}
          working:
            run:
              command: [/bin/sh, -c, 'trap "" TERM; echo $$ >WITNESS; exec sleep 1000']
              user: nobody
              timeout: 100ms
              stop: 100ms
            failed: broken
          broken:
            enter: [[/bin/sh, -c, 'echo entered >WITNESS']]
            run: {command: [/bin/sh, -c, 'trap "" TERM; echo $$ >WITNESS; exec sleep 1000'], user: nobody, stop: 100ms}
        """

    /// Only for root: nobody else can run a command as somebody whom he may not kill.
    @Test(.enabled(if: geteuid() == 0))
    func whatCannotBeKilledHoldsNothing() async throws {
        try await withRunningMachine(Self.unkillable) { machine in
            #expect(chmod(machine.directory, 0o711) == 0 && chmod(machine.witness.path, 0o622) == 0)
            try await machine.startDaemon()
            let without = ["/usr/bin/setpriv", "--bounding-set=-kill", "--inh-caps=-kill"]
            var left: [pid_t] = []
            defer { for pid in left { kill(pid, SIGKILL) } }
            let runner = try machine.spawnRunner(nil, through: without)
            _ = try await machine.ask("send go")
            left.append(try #require(pid_t(try await machine.witness.next())))
            // Neither its time, nor leaving its state, nor the end of the runner waits for it.
            #expect(try await machine.witness.next() == "entered", "\(machine.said)")
            left.append(try #require(pid_t(try await machine.witness.next())))
            #expect(machine.said.contains("a command cannot be killed"), "\(machine.said)")
            #expect(machine.said.contains("Operation not permitted"), "\(machine.said)")
            let status = try await BuiltProduct.statectl.run([
                "--runtime-directory", machine.run, "--color", "never", "status",
            ])
            #expect(
                status.output.contains(
                    "\nleft       statemachine-unkillable-working-run-1 (pid \(left[0])) cannot be killed: "
                        + "Operation not permitted\n"
                ),
                "\(status.output)"
            )
            #expect(try await runner.end() == 0, "\(runner.said)")
            // What is left is still there, and the next runner says so and goes on.
            #expect(left.allSatisfy { kill($0, 0) == 0 })
            let next = try machine.spawnRunner(nil, through: without)
            left.append(try #require(pid_t(try await machine.witness.next())))
            let name = "command=statemachine-unkillable-working-run-1 "
            #expect(next.said.components(separatedBy: name).count == 3, "\(next.said)")
            // One that may kill it does.
            #expect(try await next.end() == 0, "\(next.said)")
            try await machine.startRunner()
            left.append(try #require(pid_t(try await machine.witness.next())))
            for pid in left.dropLast() {
                #expect(!ProcessEntry.all().contains { $0.pid == pid && !$0.isDead })
            }
        }
    }

    @Test func nobodyWaitsForAHookThatHangs() async throws {
        let text = """
            start: idle
            events: {go: {num: integer}}
            states:
              idle: {when: {go: busy}}
              busy:
                fields: {num: integer}
                enter:
                  - {command: [/bin/sh, -c, 'echo {num} >WITNESS; read line <WITNESS.go'], timeout: 1h}
                  - {command: [/bin/sh, -c, 'trap "" TERM; exec sleep 1000'], timeout: 100ms, stop: 100ms}
                when: {go: done}
              done:
                fields: {num: integer}
                enter: {command: [/bin/sh, -c, 'echo done {num} >WITNESS']}
                when: {go: done}
            """
        try await withRunningMachine(text) { machine in
            try await machine.start()
            let client = try machine.connect()
            #expect(try await client.ask("send go num=0").state == "busy")
            #expect(try await machine.witness.next() == "0")
            for number in 1...200 {
                #expect(try await client.ask("send go num=\(number)").seq == number + 1)
            }
            // All of those were answered while the hook was still running.
            #expect(machine.witness.rest() == [])
            try machine.go.open()
            let rest = try await machine.witness.next(200)
            #expect(rest == (1...200).map { "done \($0)" }, "\(machine.said)")
        }
    }
}
