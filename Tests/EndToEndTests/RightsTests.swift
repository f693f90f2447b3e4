import Foundation
import Glibc
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Who may do what with a machine whose file says it: clients of other users, each a process.
@Suite(.bounded, .enabled(if: geteuid() == 0, "needs other users")) struct RightsTests {
    /// Users and groups that every Linux has: `daemon` is 1, `bin` is 2.
    private static let machine = """
        machine: press
        start: idle
        by: [daemon]
        events:
          press: {by: [nobody, "@bin"]}
          stop: {by: [any]}
        states:
          idle:
            by: [any]
            fields: {count: {type: integer, default: 0}}
            when: {press: running}
          running: {when: {stop: idle}}
          secret: {by: [root]}
        """

    /// What is asked, in order, and what the table calls it.
    private static let asks = [
        ("press", "send press"), ("stop", "send stop"), ("running", "set running"),
        ("idle", "set idle"), ("update", #"{"op":"update","add":{"count":1}}"#),
        ("secret", "set secret"), ("bad", #"{"op":"set","state":"running","data":{"x":1}}"#),
        ("late", #"{"op":"set","state":"running","ifSeq":999}"#), ("back", "set idle"),
        ("ended", #"{"op":"send","event":"run.ended","data":{"exit":0},"ifStay":999}"#),
        ("hold", #"{"op":"hold","before":["secret"]}"#),
        ("guard", #"{"op":"guard","before":["secret"]}"#),
    ]

    /// A user, its first group, and further ones.
    struct Client: CustomTestStringConvertible, Sendable {
        let name: String
        let uid: Int
        let gid: Int
        var groups: [Int] = []

        var testDescription: String { self.name }

        var setpriv: [String] {
            let groups = self.groups.map(String.init).joined(separator: ",")
            return ["--reuid", "\(self.uid)", "--regid", "\(self.gid)"]
                + (groups.isEmpty ? ["--clear-groups"] : ["--groups", groups])
        }

        static let member = Client(name: "a member", uid: 4242, gid: 4242, groups: [4243, 2])
        static let stranger = Client(name: "a stranger", uid: 4242, gid: 4242, groups: [4243])
    }

    /// Forbidden are those that are named; the others are carried out, or refused for another reason.
    private static let table: [(Client, forbidden: Set<String>)] = [
        (Client(name: "root", uid: 0, gid: 0), []),
        (
            Client(name: "a user", uid: 1, gid: 1),
            ["press", "secret", "ended"]
        ),
        (.member, ["running", "secret", "bad", "late", "ended", "hold", "guard"]),
        (
            Client(name: "of the first group", uid: 4242, gid: 2),
            ["running", "secret", "bad", "late", "ended", "hold", "guard"]
        ),
        (.stranger, ["press", "running", "secret", "bad", "late", "ended", "hold", "guard"]),
        // The file lets nobody in by that name who has no number here.
        (
            Client(name: "unmapped", uid: 65_534, gid: 65_534),
            ["press", "running", "secret", "bad", "late", "ended", "hold", "guard"]
        ),
    ]

    private static func forbidden(
        to client: Client,
        at daemon: ActivatedDaemon
    ) async throws -> [String: JSONLine] {
        let answers = try await runTool(
            .name("setpriv"),
            client.setpriv + ["socat", "-t", "60", "-", "UNIX-CONNECT:\(daemon.control)"],
            input: Self.asks.map { $0.1 + "\n" }.joined()
        )
        let lines = try answers.output.split(separator: "\n").map { try JSONLine(String($0)) }
        #expect(lines.count == Self.asks.count, "\(answers)")
        let refused = zip(Self.asks, lines).filter { $0.1.error == "forbidden" }
        return Dictionary(refused.map { ($0.0.0, $0.1) }) { first, _ in first }
    }

    @Test(arguments: table, [false, true])
    func whoMayWhat(_ row: (Client, forbidden: Set<String>), isDurable: Bool) async throws {
        try await withService(machine: Self.machine, isDurable: isDurable) { _, daemon in
            try daemon.admitEverybody()
            let refused = try await Self.forbidden(to: row.0, at: daemon)
            #expect(Set(refused.keys) == row.forbidden)
            for (ask, line) in refused {
                let may = ["press": ["nobody", "@bin"], "secret": ["root"], "ended": []]
                #expect(line.strings("may") == may[ask] ?? ["daemon"], "\(line)")
            }
            #expect(
                refused["press"]?.string("message")
                    ?? "only root, nobody and @bin may send press"
                    == "only root, nobody and @bin may send press"
            )
            #expect(try await daemon.end() == 0)
        }
    }

    @Test func theDaemonsOwnUserMayEverything() async throws {
        try await withIdleService(machine: Self.machine) { service in
            #expect(chmod(service.directory, 0o755) == 0)
            let run = "\(service.directory)/run"
            #expect(mkdir(run, 0o755) == 0 && chown(run, 3, 3) == 0)
            let own = Client(name: "own", uid: 3, gid: 3)
            #expect(chmod(service.file, 0o644) == 0 && chmod(service.notify.path, 0o666) == 0)
            let daemon = try await service.start(command: ["/usr/bin/setpriv"] + own.setpriv)
            try daemon.admitEverybody()
            #expect(try await Self.forbidden(to: own, at: daemon).isEmpty)
            let root = Client(name: "root", uid: 0, gid: 0)
            #expect(try await Self.forbidden(to: root, at: daemon).isEmpty)
            let others = try await Self.forbidden(to: .stranger, at: daemon)
            #expect(others.keys.contains("secret"))
            #expect(try await daemon.end() == 0)
        }
    }

    @Test func statectlSaysWhoMay() async throws {
        try await withService(machine: Self.machine) { _, daemon in
            try daemon.admitEverybody()
            let statectl = { (client: Client, words: [String]) in
                try await runTool(
                    .name("setpriv"),
                    client.setpriv + [
                        try BuiltProduct.statectl.path, "--runtime-directory", daemon.directory,
                    ]
                        + words
                )
            }
            let refused = try await statectl(.stranger, ["send", "press"])
            #expect(refused.errors == "statectl: only root, nobody and @bin may send press\n")
            #expect(refused.status == .exited(77))
            #expect(try await statectl(.member, ["send", "press"]).status == .exited(0))
            let forced = try await statectl(.member, ["send", "stop", "--force"])
            #expect(
                forced.errors
                    == "statectl: only root and the daemon's own user may use \"force\"\n"
            )
            let described = try await statectl(.stranger, ["describe"]).output
            #expect(
                described.contains(
                    """
                    who may
                      set, update idle     any
                      set, update secret   root
                      send press           nobody, @bin
                      send stop            any
                      all else             daemon

                    """
                ),
                "\(described)"
            )
            #expect(try await daemon.end() == 0)
        }
    }

    @Test func statusSaysWhatWhoeverAsksMay() async throws {
        try await withService(machine: Self.machine) { _, daemon in
            try daemon.admitEverybody()
            let status = { (client: Client) in
                try await runTool(
                    .name("setpriv"),
                    client.setpriv + [
                        try BuiltProduct.statectl.path, "--runtime-directory", daemon.directory,
                        "status",
                    ]
                ).output
            }
            let stranger = try await status(.stranger)
            #expect(
                stranger.contains(
                    """
                    can set   idle
                    cannot    send press   only root, nobody, @bin
                    cannot    send stop   not handled here
                    cannot    set running   only root, daemon
                    cannot    set secret   only root

                    """
                ),
                "\(stranger)"
            )
            #expect(try await status(.member).contains("can send   press → running\n"))
            #expect(chmod(daemon.control, 0o600) == 0)
            let reader = try await status(.stranger)
            #expect(reader.contains("can     only read: control.sock is not open to you\n"))
            #expect(!reader.contains("cannot"))
            #expect(try await daemon.end() == 0)
        }
    }

    @Test func anUnknownNameRefusesTheStartAndTheReload() async throws {
        let unknown = Self.machine.replacing("by: [daemon]", with: "by: [daemonn]")
        let sentence = #"machine.yaml:3:6: there is no user "daemonn" here; did you mean daemon?"#
        try await withIdleService(machine: unknown) { service in
            let refusal = try await service.refusal()
            #expect(refusal.status == EX_CONFIG)
            #expect(
                refusal.errors.contains("\(service.directory)/\(sentence)"),
                "\(refusal.errors)"
            )
        }
        try await withService(machine: Self.machine) { service, daemon in
            try daemon.admitEverybody()
            let gone = Self.machine.replacing(#""@bin""#, with: #""@bin-that-was""#)
            let status = try await service.refuse(daemon, gone)
            #expect(
                status.contains(
                    #"machine.yaml:5:24: there is no group "bin-that-was" here; create it, or write its number"#
                ),
                "\(status)"
            )
            let reply = try await daemon.connect(\.control).ask("reload")
            #expect(reply.error == "bad-file")
            // The old file goes on.
            let refused = try await Self.forbidden(to: .member, at: daemon)
            #expect(!refused.keys.contains("press") && refused.keys.contains("hold"))
            #expect(try await daemon.end() == 0)
        }
    }

    // MARK: - Clients that last

    /// A client of another user that is asked one line after the other.
    private final class Foreigner: @unchecked Sendable {
        private let input: FileDescriptor
        private var lines: StatectlProcess.Lines

        init(_ input: FileDescriptor, _ lines: StatectlProcess.Lines) {
            (self.input, self.lines) = (input, lines)
        }

        func send(_ line: String) throws { _ = try self.input.writeAll(Array("\(line)\n".utf8)) }

        func next() async throws -> JSONLine {
            guard let line = try await self.lines.next() else { throw TestFailure("it has gone") }
            return try JSONLine(line)
        }

        func ask(_ line: String) async throws -> JSONLine {
            try self.send(line)
            return try await self.next()
        }

        static func run(
            _ client: Client,
            at path: String,
            _ body: @escaping @Sendable (Foreigner) async throws -> Void
        ) async throws {
            let (output, input) = try FileDescriptor.pipe()
            _ = fcntl(input.rawValue, F_SETFD, FD_CLOEXEC)
            _ = try await Subprocess.run(
                .name("setpriv"),
                arguments: Arguments(
                    client.setpriv + ["socat", "-t", "60", "-", "UNIX-CONNECT:\(path)"]
                ),
                input: .fileDescriptor(output, closeAfterSpawningProcess: true),
                output: .sequence,
                error: .discarded
            ) { execution in
                defer { try? input.close() }
                let lines = execution.standardOutput.strings().makeAsyncIterator()
                try await body(Foreigner(input, lines))
            }
        }
    }

    @Test(arguments: [false, true])
    func groupsLastOverAHandOver(isDurable: Bool) async throws {
        try await withService(machine: Self.machine, isDurable: isDurable) { service, first in
            try first.admitEverybody()
            try await Foreigner.run(.member, at: first.control) { member in
                #expect(try await member.ask("ping").ok == true)
                let second = try await service.restart(first)
                #expect(try await member.ask("send press").ok == true)
                #expect(try await member.ask("set running").error == "forbidden")
                let third = try await service.restart(second)
                #expect(try await member.ask("send stop").ok == true)
                #expect(try await member.ask("send press").ok == true)
                #expect(try await third.end() == 0)
            }
        }
    }

    /// What the file said when it was asked, and what it says when its turn comes.
    private static let turns: [(before: String, after: String, error: String?)] = [
        ("[root]", #"["@bin"]"#, nil),
        (#"["@bin"]"#, "[root]", "forbidden"),
        ("[any]", "[root]", "forbidden"),
        ("[root]", "[any]", nil),
        ("[root]", "[4242]", nil),
    ]

    @Test(arguments: turns)
    func theFileInForceAtItsTurnJudges(before: String, after: String, error: String?) async throws {
        let machine = { (by: String) in
            """
            machine: press
            start: idle
            events: {press: {by: \(by)}, other: {}}
            states:
              idle: {when: {press: running, other: busy}}
              busy: {when: {press: running}}
              running: {final: true}
            """
        }
        try await Self.asked(machine(before), machine(after)) { line in
            #expect(line.error == error, "\(line)")
            #expect(line.state == (error == nil ? "running" : "busy"))
        }
    }

    /// The groups of who asked before there were any rights are not known when they are judged.
    @Test func whoAskedBeforeThereWereRightsIsAskedToAskAgain() async throws {
        let machine = """
            machine: press
            start: idle
            events: {press: {}, other: {}}
            states:
              idle: {when: {press: running, other: busy}}
              busy: {when: {press: running}}
              running: {final: true}
            """
        let next = machine.replacing("press: {}", with: #"press: {by: ["@bin"]}"#)
        try await Self.asked(machine, next) { line in
            #expect(line.error == "forbidden" && line.strings("may") == ["@bin"])
            #expect(
                line.string("message")
                    == "the machine's file was reloaded just now: only root and @bin may send press; ask again if that is you"
            )
        }
    }

    /// Who may not ask any more learns nothing of the stay, either.
    @Test func anEndOfARunIsJudgedByRightsBeforeItsStay() async throws {
        let machine = { (by: String) in
            """
            machine: press
            start: idle
            events: {other: {\(by)}}
            states:
              idle: {when: {other: busy}}
              busy: {final: true}
            """
        }
        let request = #"{"op":"send","event":"run.ended","data":{"exit":0},"ifStay":0}"#
        try await Self.asked(machine(""), machine("by: [root]"), request) { line in
            #expect(line.error == "forbidden", "\(line)")
        }
    }

    /// Has a member of `bin` ask for something that waits behind a vote, and the file replaced before its turn.
    private static func asked(
        _ before: String,
        _ after: String,
        _ request: String = "send press",
        _ judge: @escaping @Sendable (JSONLine) throws -> Void
    ) async throws {
        try await withService(machine: before) { service, daemon in
            try daemon.admitEverybody()
            let (guardian, root) = (try daemon.connect(\.control), try daemon.connect(\.control))
            _ = try await guardian.guard("g", "busy", #""timeoutMs":60000"#)
            try root.send("send other")
            let ask = try await guardian.next()
            try await Foreigner.run(.member, at: daemon.control) { member in
                try member.send(request)
                let isWaiting: @Sendable () async throws -> Bool = {
                    try await daemon.connect(\.control).ask("stats").items("connections")?
                        .contains { $0.int("uid") == 4242 && $0.int("sets") == 1 } == true
                }
                while try await !isWaiting() {}
                try await service.reload(daemon, after)
                // The state was recast, and the question is put again.
                let again = try await guardian.next()
                #expect(again.int("ask") != ask.int("ask"))
                #expect(try await guardian.vote(again, true).ok == true)
                #expect(try await root.next().ok == true)
                try judge(try await member.next())
            }
            #expect(try await daemon.end() == 0)
        }
    }

    // MARK: - Over a crash

    @Test func whoHasAHoldTakesItAgainWhateverTheFileSaysNow() async throws {
        try await withService(machine: Self.machine, isDurable: true) { service, daemon in
            try daemon.admitEverybody()
            let hold = #"{"op":"hold","before":["secret"]}"#
            let guarding = #"{"op":"guard","before":["running"],"required":"press"}"#
            let user = Client(name: "a user", uid: 1, gid: 1)
            try await Foreigner.run(user, at: daemon.control) { user async throws in
                #expect(try await user.ask(hold).int("hold") == 1)
                #expect(try await user.ask(guarding).int("guard") == 2)
                daemon.send(SIGKILL)
                _ = try await daemon.ended()
            }
            try service.write(Self.machine.replacing("by: [daemon]", with: "by: [bin]"))
            let next = try await service.start()
            try next.admitEverybody()
            #expect(try await next.connect(\.control).ask("set secret").error == "denied")
            try await Foreigner.run(user, at: next.control) { user async throws in
                // What is another's, or not there yet, it may not.
                let other = #"{"op":"hold","before":["idle"]}"#
                #expect(try await user.ask(other).error == "forbidden")
                #expect(try await user.ask(hold).int("hold") == 1)
                #expect(try await user.ask(hold).error == "forbidden")
                #expect(try await user.ask(guarding).int("guard") == 2)
                let rows = try await next.connect(\.control).ask("stats").items("holds")
                #expect(rows?.count == 1 && rows?[0].has("away") == false)
                #expect(try await user.ask("release 1").ok == true)
                #expect(try await user.ask(hold).error == "forbidden")
            }
            #expect(try await next.end() == 0)
        }
    }

    // MARK: - Force

    /// Many are logged as many changes are, and none is left out, whoever is there to be answered.
    @Test func manyForcedChangesAreSummedUpInTheLog() async throws {
        try await withService(machine: Self.machine) { _, daemon in
            let (voter, root) = (try daemon.connect(\.control), try daemon.connect(\.control))
            #expect(try await voter.ask(#"{"op":"hold","before":["running"]}"#).ok == true)
            let line = #"{"op":"set","state":"running","reenter":true,"force":true}"# + "\n"
            try root.send(raw: String(repeating: line, count: 200))
            for _ in 0..<200 { #expect(try await root.next().ok == true) }
            daemon.send(SIGTERM)
            let (errors, status) = try await daemon.ended()
            #expect(status == 0)
            let lines = errors.split(separator: "\n")
            let single = lines.count { $0.contains("a change was forced, passing over") }
            let sums = lines.filter { $0.contains("further changes were forced") }
                .compactMap { $0.firstMatch(of: /count=(\d+)/).flatMap { Int($0.1) } }
            #expect(single >= 20 && single < 100, "\(errors)")
            #expect(single + sums.reduce(0, +) == 200, "\(errors)")
        }
    }

    @Test(arguments: [false, true])
    func forcePassesOverHoldsAndGuards(isDurable: Bool) async throws {
        try await withService(machine: Self.machine, isDurable: isDurable) { service, daemon in
            try daemon.admitEverybody()
            let voters = try daemon.connect(\.control)
            #expect(try await voters.ask(#"{"op":"hold","before":["running"]}"#).int("hold") == 1)
            _ = try await voters.guard("g", "running", #""timeoutMs":60000"#)
            let watch = try daemon.connect(\.control)
            _ = try await watch.ask("watch")
            let root = try daemon.connect(\.control)
            #expect(try await root.ask("set running").error == "denied")
            let forced = try await root.ask(#"{"op":"set","state":"running","force":true}"#)
            #expect(forced.ok == true && forced.bool("changed") == true)
            let change = try await watch.next()
            #expect(change.bool("forced") == true && change.state == "running")
            #expect(change.keys.contains("forced"))
            try await daemon.wait(forErrors: "passing over holds and guards")
            try await daemon.wait(forErrors: "passedOver=hold 1, guard 2")
            #expect(try await root.ask("get").bool("forced") == true)
            // What nobody would have been asked about is forced as well, and passes nobody over.
            #expect(try await root.ask(#"{"op":"send","event":"stop","force":true}"#).ok == true)
            #expect(try await watch.next().bool("forced") == true)
            #expect(
                try await root.ask(#"{"op":"update","data":{"count":3},"force":true}"#).ok == true
            )
            #expect(try await watch.next().bool("forced") == true)
            #expect(try await root.ask("set secret").ok == true)
            #expect(try await watch.next().has("forced") == false)
            let lines = try await root.ask(#"{"op":"history","order":"oldest"}"#)
            #expect(lines.bool("forced") == true)
            #expect(try await daemon.end() == 0)
            guard isDurable else { return }
            #expect(
                try service.column("SELECT coalesce(forced, 0) FROM change ORDER BY seq")
                    == ["0", "1", "1", "1", "0"]
            )
            #expect(
                try service.column("SELECT count(*) FROM history WHERE forced = 1") == ["3"]
            )
            // The next process reads it back.
            let next = try await service.start()
            let past = try next.connect(\.control)
            try past.send(#"{"op":"history","order":"oldest"}"#)
            let (changes, _) = try await past.changes()
            #expect(changes.map { $0.bool("forced") } == [true, true, true, nil])
            #expect(try await next.end() == 0)
        }
    }

    @Test(arguments: [false, true]) func forceWaitsItsTurn(isDurable: Bool) async throws {
        try await withService(machine: Self.machine, isDurable: isDurable) { _, daemon in
            let (guardian, first) = (try daemon.connect(\.control), try daemon.connect(\.control))
            let line = #"{"op":"guard","before":["running","secret"],"timeoutMs":60000}"#
            #expect(try await guardian.ask(line).int("guard") == 1)
            try first.send("set running")
            let ask = try await guardian.next()
            let second = try daemon.connect(\.control)
            try second.send(#"{"op":"set","state":"secret","force":true}"#)
            #expect(try await second.ask("ping").string("message") == nil)
            #expect(try await first.ask("get").state == "idle")
            #expect(try await guardian.vote(ask, false, "not now").ok == true)
            #expect(try await first.next().error == "denied")
            let forced = try await second.next()
            #expect(forced.ok == true && forced.state == "secret" && forced.seq == 1)
            #expect(try await daemon.end() == 0)
        }
    }

    @Sendable private static func forced(_ request: String) -> String {
        "{\(request),\"force\":true}"
    }

    @Test(arguments: [false, true]) func forceIsJudgedAsEver(isDurable: Bool) async throws {
        let machine = Self.machine.replacing("start: idle", with: "start: idle\nto: [running]")
        try await withService(machine: machine, isDurable: isDurable) { _, daemon in
            try daemon.admitEverybody()
            let root = try daemon.connect(\.control)
            let force = Self.forced
            #expect(
                try await root.ask(force(#""op":"set","state":"secret""#)).error
                    == "illegal-transition"
            )
            #expect(
                try await root.ask(force(#""op":"update","data":{"count":"x"}"#)).error
                    == "bad-data"
            )
            #expect(
                try await root.ask(force(#""op":"set","state":"running","ifSeq":7"#)).error
                    == "conflict"
            )
            let ended = #""op":"send","event":"run.ended","data":{"exit":0},"ifStay":0"#
            #expect(try await root.ask(force(ended)).error == "bad-request")
            // Of nobody else is it taken, whatever the file lets him do.
            let user = Client(name: "a user", uid: 1, gid: 1)
            try await Foreigner.run(user, at: daemon.control) { user async throws in
                #expect(
                    try await user.ask(force(#""op":"set","state":"running""#)).error
                        == "forbidden"
                )
                #expect(try await user.ask("set running").ok == true)
            }
            #expect(try await daemon.end() == 0)
        }
    }

    /// A machine without a file has no rights, and force.
    @Test func aMachineWithoutAFileTakesForce() async throws {
        try await DaemonProcess.run { daemon in
            let (holder, root) = (try daemon.connect(\.control), try daemon.connect(\.control))
            #expect(try await holder.ask(#"{"op":"hold","before":["ready"]}"#).int("hold") == 1)
            let shown = try await daemon.statectl("set", "ready", "true")
            #expect(shown.status == .exited(1))
            let forced = try await daemon.statectl("set", "ready", "true", "--force")
            #expect(forced.status == .exited(0) && forced.output.hasPrefix("ready(true)"))
            #expect(try await root.ask("get").bool("forced") == true)
            let history = try await daemon.statectl("history")
            #expect(history.output.contains("forced"), "\(history.output)")
            #expect(try await !root.ask("describe").has("rights"))
        }
    }
}

extension ActivatedDaemon {
    /// Lets every user connect to the control door.
    fileprivate func admitEverybody() throws {
        let above = self.directory.dropLast(4)
        guard chmod(String(above), 0o755) == 0, chmod(self.directory, 0o755) == 0,
            chmod(self.control, 0o666) == 0
        else { throw TestFailure("cannot open \(self.control): errno \(errno)") }
    }
}
