import Foundation
import Glibc
import TestSupport
import Testing

/// Commands as children, with the built daemon and the built runner.
@Suite(.bounded) struct ChildRunTests {
    /// A run that ends as the event says.
    private static let ends = """
        machine: ends
        start: idle
        always: [idle]
        events: {go: {how: string}, fail: {}, hang: {}, miss: {}, lost: {}, loop: {}, long: {}, nul: {}, hook: {}}
        states:
          idle:
            when: {go: working, hang: hanging, miss: missing, lost: lost, loop: looped, long: long, nul: nul, hook: hooked}
          working:
            fields: {how: string}
            run: [/bin/sh, -c, "{how}"]
            done: well
            exit: {21: asking}
            failed: broken
          hanging: {run: {command: [/bin/sleep, 1000], timeout: 100ms, stop: 1s}, failed: broken}
          missing: {run: /nonexistent/program, exit: {203: asking}}
          lost: {run: {command: /bin/true, directory: /nonexistent}, exit: {200: asking}}
          looped: {run: WITNESS.loop, exit: {203: asking}}
          long: {run: {command: /LONG}, exit: {203: asking}}
          nul: {run: {command: /bin/true, environment-file: /WITNESS.nul}, exit: {203: asking}}
          # What cannot be launched does not keep what follows from being run.
          hooked: {enter: [[WITNESS.loop], {command: /LONG}], run: {command: /bin/true, environment-file: /WITNESS.env}, done: well}
          well: {when: {go: working}}
          asking: {when: {go: working}}
          broken: {when: {go: working}}
        """
        .replacing("LONG", with: String(repeating: "l", count: 300))

    @Test(arguments: [
        ("send go how:=\"exit\"", "well", "done"),
        (#"{"op":"send","event":"go","data":{"how":"exit 21"}}"#, "asking", "exit 21"),
        (#"{"op":"send","event":"go","data":{"how":"exit 3"}}"#, "broken", "failed"),
        (#"{"op":"send","event":"go","data":{"how":"kill -9 $$"}}"#, "broken", "failed"),
        // It has the standard descriptors alone, and the one that it looks with.
        (
            #"{"op":"send","event":"go","data":{"how":"set -- /proc/$$/fd/*; test $# = 4"}}"#,
            "well", "done"
        ),
        ("send hang", "broken", "failed"),
        ("send miss", "asking", "exit 203"),
        ("send lost", "asking", "exit 200"),
        ("send loop", "asking", "exit 203"),
        ("send long", "asking", "exit 203"),
        ("send nul", "asking", "exit 203"),
        ("send hook", "well", "done"),
    ])
    func anEndLeadsWhereTheFileSays(_ event: String, _ state: String, _ cause: String) async throws
    {
        try await withRunningMachine(Self.ends) { machine in
            let path = machine.witness.path
            symlink("\(path).loop", "\(path).loop")
            try Data("A=1\0\n".utf8).write(to: URL(filePath: path + ".nul"))
            try Data("9P=1\nA=1\n".utf8).write(to: URL(filePath: path + ".env"))
            try await machine.start()
            let watch = try await machine.watch()
            #expect(try await machine.ask(event).ok == true)
            #expect(try await watch.next().seq == 1)
            let moved = try await watch.next()
            #expect(moved.state == state && moved.seq == 2, "\(machine.said)")
            #expect(moved.string("cause") == cause)
            #expect(!moved.has("by"))
        }
    }

    @Test func itIsToldWhatItIsAndWhy() async throws {
        let text = """
            machine: told
            start: idle
            events: {play: {title: string, count: integer}}
            states:
              idle: {enter: {command: [/bin/sh, -c, echo here >WITNESS]}, when: {play: playing}}
              playing:
                fields: {title: string, count: integer}
                run:
                  command: [/bin/sh, -c, 'IFS= read -r line; env | LC_ALL=C sort | grep -E "^(STATEMACHINE|OWN|PATH|RUNTIME)" | grep -v _BY_UNIT= >WITNESS; echo "$line" >WITNESS; printf "%s|" "$@" >WITNESS; echo >WITNESS', sh, "{title}", "-{count}-", "{{x}"]
                  environment: {OWN: mine}
                  directory: /usr
                done: idle
            """
        try await withRunningMachine(text) { machine in
            try await machine.start()
            #expect(try await machine.witness.next() == "here")
            let title = #"a  "b" 'c'\n$HOME `d` {count}"#
            let sent = try await machine.ask(
                #"{"op":"send","event":"play","data":{"title":"a  \"b\" 'c'\\n$HOME `d` {count}","count":7}}"#
            )
            #expect(sent.state == "playing")
            let cursor = try #require(sent.string("cursor"))
            var lines = try await machine.witness.next(21)
            let at = try #require(lines.firstIndex { $0.hasPrefix("STATEMACHINE_AT=") })
            #expect(lines.remove(at: at).wholeMatch(of: /.*=[-0-9]+T[:0-9]+\.[0-9]{6}Z/) != nil)
            let comm = try String(contentsOfFile: "/proc/self/comm", encoding: .utf8)
            let data = #"{"title":"a  \"b\" 'c'\\n$HOME `d` {count}","count":7}"#
            #expect(
                lines.dropLast(2) == [
                    "OWN=mine",
                    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "RUNTIME_DIRECTORY=\(machine.run)",
                    "STATEMACHINE_ATTEMPT=1",
                    "STATEMACHINE_BY_COMM=\(comm.dropLast())",
                    "STATEMACHINE_BY_PID=\(getpid())",
                    "STATEMACHINE_BY_UID=\(getuid())",
                    "STATEMACHINE_CURSOR=\(cursor)",
                    "STATEMACHINE_DATA=\(data)",
                    "STATEMACHINE_FROM=idle",
                    "STATEMACHINE_FROM_DATA={}",
                    "STATEMACHINE_KEY=run",
                    "STATEMACHINE_MACHINE=told",
                    "STATEMACHINE_RUNTIME_DIRECTORY=\(machine.run)",
                    "STATEMACHINE_SEQ=1",
                    "STATEMACHINE_STATE=playing",
                    "STATEMACHINE_STAY=1",
                    "STATEMACHINE_STAY_CURSOR=\(cursor)",
                ]
            )
            let line = try JSONLine(lines[18])
            #expect(line.type == "change" && line.seq == 1 && line.state == "playing")
            #expect(lines[19] == "\(title)|-7-|{x}|")
        }
    }

    /// Only for root: for anybody else such a file is refused.
    @Test(.enabled(if: geteuid() == 0))
    func itIsSomebodyElsesWithTheVariablesOfAFile() async throws {
        let text = """
            machine: account
            start: idle
            events: {go: {}}
            defaults:
              environment: {SHARED: declared, OWN: declared}
              environment-file: /WITNESS.env
            states:
              idle: {when: {go: somebody}}
              somebody:
                run:
                  command: [/bin/sh, -c, 'echo "$(id -u) $(id -g) $(id -G) $HOME $USER $SHARED $OWN" >WITNESS']
                  user: nobody
                done: grouped
              grouped:
                run:
                  command: [/bin/sh, -c, 'echo "$(id -u) $(id -g) $USER" >WITNESS']
                  group: daemon
                  environment-file: /dev/null
                done: {state: wrong, data: {how: done}}
              wrong:
                fields: {how: string}
                run: {command: /bin/true, environment-file: /nonexistent}
                exit: {203: barred}
              barred:
                run: {command: WITNESS.program, user: nobody}
                exit: {203: unknown}
              unknown:
                run: {command: no-such-program, user: nobody}
                exit: {203: preloaded}
              preloaded:
                run: {command: /bin/true, user: nobody, environment: {LD_PRELOAD: /nonexistent.so}}
                done: idle
            """
        try await withRunningMachine(text) { machine in
            // The command of any user may write to the witness.
            #expect(chmod(machine.directory, 0o711) == 0 && chmod(machine.witness.path, 0o622) == 0)
            try Data("# one\nSHARED=\"of the file\"\n".utf8)
                .write(to: URL(filePath: machine.witness.path + ".env"))
            try Data("#!/bin/sh\n".utf8)
                .write(to: URL(filePath: machine.witness.path + ".program"))
            #expect(chmod(machine.witness.path + ".program", 0o700) == 0)
            try await machine.start()
            let watch = try await machine.watch()
            _ = try await machine.ask("send go")
            #expect(
                try await machine.witness.next()
                    == "65534 65534 65534 /nonexistent nobody of the file declared"
            )
            #expect(try await machine.witness.next() == "0 1 ")
            var causes: [String?] = []
            for _ in 1...7 { causes.append(try await watch.next().string("cause")) }
            #expect(
                causes == [nil, "done", "done", "exit 203", "exit 203", "exit 203", "done"],
                "\(machine.said)"
            )
            // From the command's loader only, not from that of the step before it, which is still
            // root.
            #expect(machine.said.split(separator: "/nonexistent.so").count == 2, "\(machine.said)")
        }
    }

    @Test func aFailureIsTriedAgainAndASuccessEndsThat() async throws {
        let text = """
            start: working
            states:
              working:
                run:
                  command: [/bin/sh, -c, 'echo $STATEMACHINE_ATTEMPT >WITNESS; test $STATEMACHINE_ATTEMPT = 3']
                  retry: {times: 3, wait: 50ms}
                done: well
                failed: broken
              well: {final: true}
              broken: {final: true}
            """
        try await withRunningMachine(text) { machine in
            try await machine.startDaemon()
            let watch = try await machine.watch()
            try await machine.startRunner()
            #expect(try await machine.witness.next(3) == ["1", "2", "3"])
            #expect(try await watch.next().state == "well")
        }
    }

    /// A run that goes on until it is stopped, with a child that ignores SIGTERM.
    private static let stubborn = """
        machine: stubborn
        start: idle
        events: {go: {}, halt: {}}
        states:
          idle: {when: {go: working}}
          working:
            run:
              command: [/bin/sh, -c, 'trap "echo told $STATEMACHINE_STAY >WITNESS; exit 0" TERM; (trap "" TERM; exec sleep 1000) & echo $! >WITNESS; wait; wait']
              stop: 3s
            done: broken
            when: {halt: idle}
          broken: {final: true}
        """

    @Test func leavingStopsAllOfItAndItsLateEndChangesNothing() async throws {
        try await withRunningMachine(Self.stubborn) { machine in
            try await machine.start()
            var left: pid_t?
            for stay in [1, 3] {
                #expect(try await machine.ask("send go").int("stay") == stay)
                let child = try #require(pid_t(try await machine.witness.next()))
                #expect(Self.isAlive(child))
                // The second run begins only when nothing of the first is left.
                if let left { #expect(!Self.isAlive(left), "\(machine.said)") }
                left = child
                let watch = try await machine.watch()
                #expect(try await machine.ask("send halt").seq == stay + 1)
                // It ends with 0, which no longer leads anywhere.
                #expect(try await machine.witness.next() == "told \(stay)")
                #expect(try await watch.next().seq == stay + 1)
            }
            #expect(try await machine.ask("get").state == "idle")
        }
    }

    /// Whether it runs; a zombie, whose exit status nobody has collected, does not.
    private static func isAlive(_ pid: pid_t) -> Bool {
        guard let file = fopen("/proc/\(pid)/stat", "re") else { return false }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard fgets(&buffer, CInt(buffer.count), file) != nil else { return false }
        let text = String(
            decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
        return !text.contains(") Z ")
    }
}
