#if Cluster
import Foundation
import Glibc
import StateMachineEtcd
import StateMachineSQLite
import Subprocess
import TestSupport
import Testing

/// Daemons of several hosts that share a machine, each with a history on its disk.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedHistoriesTests {
    private static func run(
        _ host: String,
        at endpoint: EtcdEndpoint,
        in directory: String,
        arguments: [String] = [],
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await SharedDaemonsTests.run(
            host,
            at: endpoint,
            in: directory,
            isDurable: true,
            arguments: arguments,
            body
        )
    }

    /// Sets so many states, in turns.
    private static func set(_ daemon: DaemonProcess, _ count: Int) async throws {
        let socket = try daemon.connect(\.control)
        var isOpen = try await socket.ask(#"{"op":"get","fresh":true}"#).state == "open"
        for number in 0..<count {
            let line =
                isOpen
                ? #"{"op":"set","state":"closed"}"#
                : #"{"op":"set","state":"open","data":{"by":"\#(number)"}}"#
            let reply = try await socket.ask(line)
            #expect(reply.ok == true, "\(reply)")
            isOpen.toggle()
        }
    }

    /// What a watch is sent that resumes there, up to that seq, as it was sent to those who were there.
    private static func resumed(
        _ daemon: DaemonProcess,
        since cursor: String,
        upTo seq: Int
    ) async throws -> [String] {
        let socket = try daemon.connect(\.control)
        try socket.send(#"{"op":"watch","since":"\#(cursor)"}"#)
        var lines: [String] = []
        while true {
            let line = try await socket.next()
            if line.type == "shared" || line.type == "live" { continue }
            lines.append(line.description.replacing(#","replay":true"#, with: ""))
            if line.type != "change" || line.seq == seq { return lines }
        }
    }

    private static func cursor(_ line: String) throws -> String {
        try JSONLine(line).string("cursor") ?? ""
    }

    @Test(.timeLimit(.minutes(2)))
    func aHostThatWasKilledGoesOnAndItsWatchersMissNothing() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    try await SharedDaemonsTests.isUp(a)
                    try await SharedDaemonsTests.isUp(b)
                    let watch = try await SharedDaemonsTests.watch(b)
                    try await Self.run("c", at: endpoint, in: directory) { c in
                        try await SharedDaemonsTests.isUp(c)
                        let seen = try await SharedDaemonsTests.watch(c)
                        for daemon in [a, b, c] { try await Self.set(daemon, 2) }
                        _ = try await SharedDaemonsTests.changes(seen, 6)
                        // What it has been told may be on its way to the disk yet: the engine has it.
                        try c.send(.kill)
                    }
                    try await Self.set(a, 2)
                    let changes = try await SharedDaemonsTests.changes(watch, 8)
                    try await Self.run("c", at: endpoint, in: directory) { c in
                        // What was on its way to the disk comes from the engine.
                        try await SharedDaemonsTests.isUp(c)
                        for (index, change) in changes.enumerated() where index < 7 {
                            let lines = try await Self.resumed(
                                c,
                                since: try Self.cursor(change),
                                upTo: 8
                            )
                            #expect(lines == Array(changes[(index + 1)...]))
                        }
                        let history = try await c.connect(\.control).ask(
                            #"{"op":"history","since":"\#(try Self.cursor(changes[1]))","limit":1}"#
                        )
                        #expect(history.seq == 3, "\(history)")
                        #expect(history.item("by")?.string("host") == "b")
                    }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aHostGoesOnWhereItWasThoughThereIsNoEngine() async throws {
        let seen = Recorder<[String]>()
        try await withTemporaryDirectory { directory in
            let etcd = try await EtcdProcess(in: directory)
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                let watch = try await SharedDaemonsTests.watch(a)
                try await Self.set(a, 5)
                seen.record(try await SharedDaemonsTests.changes(watch, 5))
            }
            try await etcd.process.end(by: SIGKILL)
            try await Self.run("a", at: endpoint, in: directory) { a in
                let changes = seen.heard[0]
                let get = try await a.ask(\.control, #"{"op":"get"}"#)
                #expect(get.seq == 5, "\(get)")
                #expect(get.state == "open")
                #expect(get.int("staleMs") ?? 0 > 0, "\(get)")
                let since = try Self.cursor(changes[1])
                #expect(try await Self.resumed(a, since: since, upTo: 5) == Array(changes[2...]))
                let refused = try await a.ask(\.control, #"{"op":"set","state":"closed"}"#)
                #expect(refused.error == "unavailable", "\(refused)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aHostThatComesLaterHasThePastOfTheOthersFromTheEngine() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                let watch = try await SharedDaemonsTests.watch(a)
                try await Self.set(a, 40)
                let changes = try await SharedDaemonsTests.changes(watch, 40)
                // One with a disk of its own, and one without.
                for isDurable in [true, false] {
                    try await SharedDaemonsTests.run(
                        isDurable ? "b" : "c",
                        at: endpoint,
                        in: directory,
                        isDurable: isDurable
                    ) { b in
                        try await SharedDaemonsTests.isUp(b)
                        for index in [0, 15, 38] {
                            let lines = try await Self.resumed(
                                b,
                                since: try Self.cursor(changes[index]),
                                upTo: 40
                            )
                            #expect(lines == Array(changes[(index + 1)...]))
                        }
                        let backwards = try b.connect(\.control)
                        try backwards.send(
                            #"{"op":"history","order":"newest","only":["open"],"limit":15}"#
                        )
                        var seqs: [Int] = []
                        var line = try await backwards.next()
                        while line.type == "change" {
                            if let seq = line.seq { seqs.append(seq) }
                            line = try await backwards.next()
                        }
                        #expect(seqs == (0..<15).map { 39 - 2 * $0 })
                        #expect(line.bool("more") == true, "\(line)")
                        let time = try JSONLine(changes[9]).string("at") ?? ""
                        let later = try await b.connect(\.control).ask(
                            #"{"op":"history","after":"\#(time)","limit":1}"#
                        )
                        #expect([10, 11].contains(later.seq), "\(later)")
                    }
                }
            }
        }
    }

    /// Whether the daemon is down while it is put back, or runs.
    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func aSnapshotThatIsPutBackIsAnotherNumbering(isDown: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let etcd = try await EtcdProcess(in: directory)
            let endpoint = etcd.endpoint
            let cursors = Recorder<String>()
            @Sendable func putBack() async throws -> EtcdProcess {
                try await etcd.putBack("\(directory)/snapshot", in: directory)
            }
            /// What a client sees behind it.
            @Sendable func check(_ a: DaemonProcess) async throws {
                try await SharedDaemonsTests.isUp(a)
                let old = cursors.heard[0]
                let lines = try await Self.resumed(a, since: old, upTo: 0)
                let line = try JSONLine(lines.first ?? "")
                #expect(line.type == "state", "\(line)")
                #expect(line.string("resync") == "restarted", "\(line)")
                #expect(line.seq == 1)
                try await Self.set(a, 1)
                // What is on the disk comes behind what is answered.
                var former: [String] = []
                while former.isEmpty {
                    try await Task.sleep(for: .milliseconds(20))
                    former = try FileManager.default.contentsOfDirectory(atPath: a.state).filter {
                        $0.hasPrefix("statemachine-former-") && $0.hasSuffix(".sqlite")
                    }
                }
                #expect(former.count == 1, "\(former)")
                let log = text(of: "\(directory)/a/stderr")
                #expect(log.contains("the engine was restored"), "\(log)")
            }
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                try await Self.set(a, 1)
                try await etcd.etcdctl("snapshot", "save", "\(directory)/snapshot")
                try await Self.set(a, 4)
                cursors.record(try await a.ask(\.control, #"{"op":"get"}"#).string("cursor") ?? "")
                guard !isDown else { return }
                let watch = try await SharedDaemonsTests.watch(a)
                let again = try await putBack()
                var line = try await watch.next()
                while line.type == "shared" { line = try await watch.next() }
                #expect(line.type == "state", "\(line)")
                #expect(line.string("resync") == "restarted", "\(line)")
                try await check(a)
                try await again.process.end(by: SIGKILL)
            }
            if isDown {
                let again = try await putBack()
                try await Self.run("a", at: endpoint, in: directory) { try await check($0) }
                try await again.process.end(by: SIGKILL)
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aDiskThatTakesNothingRefusesNoSet() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            let cursors = Recorder<String>()
            try await Self.run(
                "a",
                at: endpoint,
                in: directory,
                arguments: ["--ring-changes", "8"]
            ) {
                a in
                try await SharedDaemonsTests.isUp(a)
                let watch = try await SharedDaemonsTests.watch(a)
                try await Self.set(a, 2)
                try Self.database(
                    of: a,
                    "CREATE TRIGGER refusal BEFORE INSERT ON change BEGIN SELECT RAISE(ABORT, 'no more'); END"
                )
                try await Self.set(a, 30)
                let changes = try await SharedDaemonsTests.changes(watch, 32)
                cursors.record(try Self.cursor(changes[1]))
                try await a.notify.waitUnlessSeen("changes are not in this host's history")
                // The engine has what neither the ring nor the disk has.
                let lines = try await Self.resumed(a, since: cursors.heard[0], upTo: 32)
                #expect(lines == Array(changes[2...]))
                try Self.database(of: a, "DROP TRIGGER refusal")
                try await Self.set(a, 1)
            }
            // What it began with, and all that was set.
            #expect(try Self.rows(in: "\(directory)/a/state") == 34)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func whatWasCompactedMeanwhileIsNotMissed() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    try await SharedDaemonsTests.isUp(a)
                    try await SharedDaemonsTests.isUp(b)
                    let watches = (
                        try await SharedDaemonsTests.watch(a), try await SharedDaemonsTests.watch(b)
                    )
                    try await Self.set(a, 2)
                    _ = try await SharedDaemonsTests.changes(watches.1, 2)
                    kill(b.pid, SIGSTOP)
                    try await Self.set(a, 40)
                    let json = try await etcd.etcdctl("get", "x", "-w", "json")
                    let revision = try JSONLine(json).item("header")?.int("revision") ?? 0
                    try await etcd.etcdctl("compact", "\(revision)")
                    kill(b.pid, SIGCONT)
                    let seen = try await SharedDaemonsTests.changes(watches.0, 42)
                    var missed: [String] = []
                    while missed.count < 40 {
                        let line = try await watches.1.next()
                        if line.type == "shared" { continue }
                        #expect(line.type == "change", "\(line)")
                        missed.append(line.description)
                    }
                    #expect(missed == Array(seen[2...]))
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func whoWasAwayForLongerThanTheLogReachesIsToldHowMuchIsMissing() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await etcd.etcdctl(
                "put",
                "/statemachine/v1/gate/settings",
                #"{"keepChanges":10,"layout":1}"#
            )
            let cursors = Recorder<String>()
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                try await Self.run("b", at: endpoint, in: directory) { b in
                    try await SharedDaemonsTests.isUp(b)
                    try await Self.set(a, 2)
                    let get = try await a.ask(\.control, #"{"op":"get"}"#)
                    cursors.record(get.string("cursor") ?? "")
                    let first = cursors.heard[0].replacing(":2", with: ":0")
                    _ = try await Self.resumed(b, since: first, upTo: 2)
                    try b.send(.kill)
                }
                // More than are kept, a group more than that, and as many as until they are looked at.
                try await Self.set(a, 1298)
                try await Self.run("b", at: endpoint, in: directory) { b in
                    try await SharedDaemonsTests.isUp(b)
                    let lines = try await Self.resumed(b, since: cursors.heard[0], upTo: 0)
                    let line = try JSONLine(lines.first ?? "")
                    #expect(line.string("resync") == "evicted", "\(line)")
                    #expect(line.int("missed") == 1298, "\(line)")
                    #expect(line.seq == 1300)
                    // And of the other host the disk has all.
                    let all = try await Self.resumed(a, since: cursors.heard[0], upTo: 1300)
                    #expect(all.count == 1298)
                }
            }
        }
    }

    private static func database(of daemon: DaemonProcess, _ sql: String) throws {
        try Database("\(daemon.state)/statemachine.sqlite", timeout: .seconds(10)).execute(sql)
    }

    private static func rows(in state: String) throws -> Int64 {
        let database = try Database("\(state)/statemachine.sqlite", timeout: .seconds(10))
        return try database.first("SELECT count(*) FROM change") { $0.integer(0) } ?? 0
    }
}
#endif
