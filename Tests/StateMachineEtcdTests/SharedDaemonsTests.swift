#if Cluster
import Foundation
import Glibc
import StateMachineEtcd
import Subprocess
import TestSupport
import Testing

/// Daemons of several hosts that share a machine over a real etcd, as clients see them at their sockets.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedDaemonsTests {
    static let machine = """
        machine: gate
        start: closed
        states:
          closed: {to: [open]}
          open: {fields: {by: string}, to: [closed]}
        """

    static func arguments(_ host: String, _ endpoint: EtcdEndpoint) -> [String] {
        [
            "--log-level", "error", "--engine-endpoints", "\(endpoint)", "--host", host,
            "--session-ttl", "5s", "--check-interval", "200ms", "--stale-after", "600ms",
            "--call-timeout", "400ms", "--set-timeout", "1s",
        ]
    }

    /// Runs the daemon of one host.
    static func run(
        _ host: String,
        at endpoint: EtcdEndpoint,
        in directory: String,
        machine: String = Self.machine,
        isDurable: Bool = false,
        arguments: [String] = [],
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        let place = "\(directory)/\(host)"
        mkdir(place, 0o700)
        let ended = try await DaemonProcess.run(
            .cluster,
            in: place,
            machine: machine,
            isDurable: isDurable,
            arguments: Self.arguments(host, endpoint) + arguments,
            body
        )
        #expect(
            [.exited(0), .signaled(9)].contains(ended.status),
            "\(text(of: "\(place)/stderr"))"
        )
    }

    /// A watch of a daemon that shows what all have, from its first `state` line on.
    static func watch(_ daemon: DaemonProcess) async throws -> LineSocket {
        let socket = try daemon.connect(\.events)
        var line = try await socket.next()
        while line.type != "state" {
            #expect(line.type == "shared")
            #expect(line.bool("up") == false)
            line = try await socket.next()
        }
        return socket
    }

    /// Waits until the daemon takes changes.
    static func isUp(_ daemon: DaemonProcess) async throws {
        let socket = try await Self.watch(daemon)
        // What is told behind the state says that it does not.
        while try await daemon.ask(\.control, #"{"op":"get"}"#).has("staleMs") {
            let line = try await socket.next()
            if line.type == "shared", line.bool("up") == true { return }
        }
    }

    /// The next lines that are changes, as they came.
    static func changes(_ socket: LineSocket, _ count: Int) async throws -> [String] {
        var changes: [String] = []
        while changes.count < count {
            let line = try await socket.next()
            if line.type == "change" { changes.append(line.description) }
        }
        return changes
    }

    /// What would become of setting that.
    private static func prospect(
        of state: String,
        at daemon: DaemonProcess
    ) async throws -> JSONLine? {
        let get = try await daemon.ask(\.control, #"{"op":"get","possible":true}"#)
        return get.item("possible")?.items("set")?.first { $0.state == state }
    }

    @Test(.timeLimit(.minutes(2)))
    func threeHostsShareTheirSetsAsClientsSeeThem() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    try await Self.run("c", at: endpoint, in: directory) { c in
                        let daemons = [a, b, c]
                        for daemon in daemons { try await Self.isUp(daemon) }
                        var watches: [LineSocket] = []
                        for daemon in daemons { watches.append(try await Self.watch(daemon)) }
                        for (index, daemon) in daemons.enumerated() {
                            let by = ["a", "b", "c"][index]
                            let opened = try await daemon.ask(
                                \.control,
                                #"{"op":"set","state":"open","data":{"by":"\#(by)"}}"#
                            )
                            #expect(opened.ok == true, "\(opened)")
                            // What was answered at one host is known at each that asks a quorum.
                            let fresh = try await daemons[(index + 1) % 3].ask(
                                \.control,
                                #"{"op":"get","fresh":true}"#
                            )
                            #expect(fresh.seq == opened.seq)
                            #expect(fresh.item("by")?.string("host") == by)
                            let closed = try await BuiltProduct.statectl.run(
                                ["--runtime-directory", daemon.directory, "set", "closed"]
                            )
                            #expect(closed.status == .exited(0), "\(closed.errors)")
                        }
                        var seen: [[String]] = []
                        for watch in watches { seen.append(try await Self.changes(watch, 6)) }
                        // Byte for byte, with seq, cursor, time and who has set it.
                        #expect(seen[0] == seen[1])
                        #expect(seen[0] == seen[2])
                        #expect(
                            try seen[0].map { try JSONLine($0).item("by")?.string("host") }
                                == ["a", "a", "b", "b", "c", "c"]
                        )
                        #expect(try seen[0].map { try JSONLine($0).seq } == Array(1...6))
                        let late = try await b.ask(
                            \.control,
                            #"{"op":"set","state":"open","data":{"by":"b"},"ifSeq":5}"#
                        )
                        #expect(late.error == "conflict")
                        // A cursor of one host is one of another.
                        let cursor = try JSONLine(seen[0][5]).string("cursor") ?? ""
                        let resumed = try await c.ask(
                            \.control,
                            #"{"op":"watch","since":"\#(cursor)"}"#
                        )
                        #expect(resumed.type == "live", "\(resumed)")
                        #expect(
                            try await a.ask(\.control, #"{"op":"describe"}"#).item("cluster")?
                                .string("host") == "a"
                        )
                        // One is killed, and the others go on.
                        try c.send(.kill)
                        let opened = try await a.ask(
                            \.control,
                            #"{"op":"set","state":"open","data":{"by":"after"}}"#
                        )
                        #expect(opened.ok == true)
                        #expect(
                            try await Self.changes(watches[0], 1)
                                == Self.changes(watches[1], 1)
                        )
                    }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func anEngineThatStandsStillIsSeenAndNothingIsLost() async throws {
        try await EtcdProcess.run { etcd, directory in
            let (endpoint, pid) = (etcd.endpoint, etcd.pid)
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    for daemon in [a, b] { try await Self.isUp(daemon) }
                    let watch = try await Self.watch(b)
                    kill(pid, SIGSTOP)
                    var line = try await watch.next()
                    #expect(line.type == "shared")
                    #expect(line.bool("up") == false)
                    #expect(line.string("reason") == "engine")
                    #expect(line.seq == 0)
                    #expect(line.string("cursor") != nil)
                    let refused = try await b.ask(
                        \.control,
                        #"{"op":"set","state":"open","data":{"by":"b"}}"#
                    )
                    #expect(refused.error == "unavailable", "\(refused)")
                    #expect(!refused.has("unsure"))
                    let read = try await b.ask(\.control, #"{"op":"get"}"#)
                    #expect(read.state == "closed")
                    #expect(read.int("staleMs") ?? 0 >= 600)
                    let prospect = try await Self.prospect(of: "open", at: b)
                    #expect(prospect?.error == "unavailable")
                    for read in ["stats", "ping", "history"] {
                        let reply = try await b.ask(\.control, #"{"op":"\#(read)"}"#)
                        #expect(reply.has("staleMs"), "\(reply)")
                    }
                    let fresh = try await b.ask(\.control, #"{"op":"get","fresh":true}"#)
                    #expect(fresh.error == "unavailable", "\(fresh)")
                    let hosts = try await b.ask(\.control, #"{"op":"hosts"}"#)
                    #expect(hosts.ok == true, "\(hosts)")
                    #expect(hosts.has("staleMs"))
                    let engine = try await b.ask(\.control, #"{"op":"stats"}"#).item("engine")
                    #expect(engine?.bool("up") == false)
                    #expect(engine?.string("reason") == "engine")
                    kill(pid, SIGCONT)
                    line = try await watch.next()
                    #expect(line.type == "shared")
                    #expect(line.bool("up") == true)
                    try await Self.isUp(a)
                    let opened = try await a.ask(
                        \.control,
                        #"{"op":"set","state":"open","data":{"by":"a"}}"#
                    )
                    #expect(opened.ok == true, "\(opened)")
                    #expect(opened.seq == 1)
                    let counts = try await a.ask(\.control, #"{"op":"stats"}"#).item("engine")
                    #expect(counts?.bool("up") == true)
                    #expect(counts?.int("connects") ?? 0 >= 1)
                    #expect(counts?.item("commits")?.int("totalUs") ?? 0 > 0)
                    #expect(try await watch.next().seq == 1)
                    #expect(!(try await b.ask(\.control, #"{"op":"get"}"#).has("staleMs")))
                    #expect(try await Self.prospect(of: "closed", at: b)?.bool("ok") == true)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aCursorThatAHostHasNotComeToIsAskedAboutFirst() async throws {
        try await EtcdProcess.run { etcd, directory in
            let (endpoint, relay) = (etcd.endpoint, try await Relay(to: etcd.endpoint))
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: relay.endpoint, in: directory) { b in
                    for daemon in [a, b] { try await Self.isUp(daemon) }
                    let (setter, reader) = (try a.connect(\.control), try b.connect(\.control))
                    func step(_ number: Int) async throws -> String {
                        let line =
                            number.isMultiple(of: 2)
                            ? #"{"op":"set","state":"open","data":{"by":"\#(number)"}}"#
                            : #"{"op":"set","state":"closed"}"#
                        return try await setter.ask(line).string("cursor") ?? ""
                    }
                    // It is a moment behind, and says nothing before it has come up.
                    for number in 0..<100 {
                        let since = try await step(number)
                        let request = #"{"op":"history","since":"\#(since)"}"#
                        var answer = try await reader.ask(request)
                        while answer.error == "unavailable" {
                            answer = try await reader.ask(request)
                        }
                        #expect(answer.int("count") == 0, "\(answer)")
                        #expect(!answer.has("resync"), "\(answer)")
                    }
                    try await relay.cut()
                    let since = try await step(100)
                    let waiter = try b.connect(\.control)
                    // Whether it has been noticed yet or not.
                    for request in ["watch", "wait", "history"] {
                        let until = request == "wait" ? #""until":"open","# : ""
                        let refused = try await waiter.ask(
                            #"{"op":"\#(request)",\#(until)"since":"\#(since)"}"#
                        )
                        #expect(refused.error == "unavailable", "\(refused)")
                    }
                    try await relay.mend()
                    try await Self.isUp(b)
                    let wait = #"{"op":"wait","until":"open","since":"\#(since)"}"#
                    var waited = try await waiter.ask(wait)
                    while waited.error == "unavailable" { waited = try await waiter.ask(wait) }
                    #expect(waited.seq == 101, "\(waited)")
                    // Of no numbering, and so of none that another host could know.
                    let unknown = try await waiter.ask(#"{"op":"wait","until":"open","since":"x"}"#)
                    #expect(unknown.string("resync") == "unknown", "\(unknown)")
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func withoutAnEngineReadsAreUnavailableUntilThereIsOne() async throws {
        try await withTemporaryDirectory { directory in
            let port = try EtcdProcess.freePorts(1)[0]
            let endpoint = try EtcdEndpoint("http://127.0.0.1:\(port)")
            try await Self.run("a", at: endpoint, in: directory) { a in
                #expect(try await a.ask(\.control, #"{"op":"get"}"#).error == "unavailable")
                let events = try a.connect(\.events)
                let first = try await events.next()
                #expect(first.type == "shared")
                #expect(first.string("reason") == "engine")
                #expect(!first.has("state"))
                let etcd = try await EtcdProcess(in: directory, at: endpoint)
                var line = try await events.next()
                while line.type == "shared" { line = try await events.next() }
                #expect(line.type == "state")
                #expect(line.state == "closed")
                try await etcd.process.end(by: SIGKILL)
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func aHostThatHasNotSeenTheMachineEndsAsAnyOther() async throws {
        try await withTemporaryDirectory { directory in
            let port = try EtcdProcess.freePorts(1)[0]
            let nobody = try EtcdEndpoint("http://127.0.0.1:\(port)")
            try await Self.run("a", at: nobody, in: directory) { a in
                let refused = try await a.ask(
                    \.control,
                    #"{"op":"set","state":"open","data":{"by":"a"}}"#
                )
                #expect(refused.error == "unavailable", "\(refused)")
            }
        }
    }

    @Test(.timeLimit(.minutes(2)), .enabled(if: Certificates.canBeMade))
    func certificatesAreReadAgainAtAReload() async throws {
        try await withTemporaryDirectory { directory in
            let ours = try await Certificates(in: directory, named: "ours")
            let others = try await Certificates(in: directory, named: "others")
            try await ours.make("etcd", for: "IP:127.0.0.1")
            for authority in [ours, others] { try await authority.make("a") }
            let etcd = try await EtcdProcess(
                in: directory,
                certificates: ours.arguments("etcd", trusting: ours)
            )
            let (certificate, key) = ("\(directory)/a.crt", "\(directory)/a.key")
            @Sendable func install(_ authority: Certificates) throws {
                for (file, own) in [
                    (authority.certificate("a"), certificate), (authority.key("a"), key),
                ] {
                    try Data(contentsOf: URL(filePath: file)).write(to: URL(filePath: own))
                }
            }
            try install(others)
            try await Self.run(
                "a",
                at: etcd.endpoint,
                in: directory,
                arguments: [
                    "--engine-ca", ours.certificate("ca"), "--engine-certificate", certificate,
                    "--engine-key", key,
                ]
            ) { a in
                var status = try await a.ask(\.control, #"{"op":"stats"}"#)
                while status.string("trouble")?.contains("engine-certificate") != true {
                    try await Task.sleep(for: .milliseconds(50))
                    status = try await a.ask(\.control, #"{"op":"stats"}"#)
                }
                #expect(status.item("engine")?.string("reason") == "certificate")
                try install(ours)
                try a.send(.terminalClosed)
                try await Self.isUp(a)
                let opened = try await a.ask(
                    \.control,
                    #"{"op":"set","state":"open","data":{"by":"a"}}"#
                )
                #expect(opened.ok == true, "\(opened)")
            }
            try await etcd.process.end(by: SIGKILL)
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (["--check-interval", "3s"], "check-interval 3s has to be less than stale-after 3s"),
            (
                ["--stale-after", "9s"],
                "stale-after 9s has to be less than session-ttl 10s less 1s"
            ),
            (["--call-timeout", "4s"], "call-timeout 4s may not be more than stale-after 3s"),
            (
                ["--call-timeout", "2s", "--set-timeout", "1s"],
                "set-timeout 1s may not be less than call-timeout 2s"
            ),
            (["--engine-machine", "a/b"], "--engine-machine must be a word"),
            (["--engine-endpoints", "http://etcd.example:2379"], "is not encrypted"),
            (["--engine-endpoints", "https://etcd.example:2379"], "engine-ca is not set"),
            (["--host", "a"], "host a is set, and engine-endpoints is not"),
            (["--engine-insecure"], "engine-insecure true is set, and engine-endpoints is not"),
        ]
    )
    func whatDoesNotFitIsRefused(arguments: [String], sentence: String) async throws {
        let endpoint =
            arguments.contains("--engine-endpoints") || sentence.contains("engine-endpoints")
            ? [] : ["--engine-endpoints", "http://127.0.0.1:2379"]
        let checked = try await BuiltProduct.cluster.run(
            ["--check-config", "--instance", "gate", "--config", "/dev/null"] + endpoint + arguments
        )
        #expect(checked.status == .exited(78))
        #expect(checked.errors.contains(sentence), "\(checked.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func systemdHandsOverWhoThisHostIs() async throws {
        try await withTemporaryDirectory { directory in
            for file in ["engine-ca", "other-ca"] {
                try "no certificate".write(
                    toFile: "\(directory)/\(file)",
                    atomically: true,
                    encoding: .utf8
                )
            }
            let arguments = [
                "--check-config", "--instance", "gate", "--config", "/dev/null",
                "--engine-endpoints", "https://etcd.example:2379",
            ]
            for (given, file) in [
                ([String](), "\(directory)/engine-ca"),
                (["--engine-ca", "\(directory)/other-ca"], "\(directory)/other-ca"),
            ] {
                let checked = try await BuiltProduct.cluster.run(
                    arguments + given,
                    environment: ["CREDENTIALS_DIRECTORY": directory]
                )
                #expect(checked.status == .exited(78))
                #expect(
                    checked.errors.contains("engine-ca: \(file) cannot be read"),
                    "\(checked.errors)"
                )
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func whatEachHostWouldDoByItselfIsRefused() async throws {
        let checked = try await Self.check("lit: {run: sleep 1, done: dark, to: [dark]}")
        #expect(checked.status == .exited(78))
        #expect(checked.errors.contains("lit has run, enter or leave: a machine that several"))
    }

    @Test(.timeLimit(.minutes(1)))
    func whatNeverHappensIsSaid() async throws {
        let checked = try await Self.check("lit: {after: {1min: dark}, boot: dark, to: [dark]}")
        #expect(checked.status == .exited(0))
        #expect(checked.errors.contains("lit has boot: that never happens"), "\(checked)")
        #expect(!checked.errors.contains("after"))
    }

    /// Checks a machine that has that state besides another.
    private static func check(
        _ state: String
    ) async throws -> (output: String, errors: String, status: TerminationStatus) {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try """
            machine: lamp
            start: dark
            states:
              dark: {to: [lit]}
              \(state)
            """.write(toFile: file, atomically: true, encoding: .utf8)
            return try await BuiltProduct.cluster.run([
                "--check-config", "--config", "/dev/null", "--machine", file,
                "--engine-endpoints", "http://127.0.0.1:2379",
            ])
        }
    }
}
#endif
