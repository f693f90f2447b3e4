#if Cluster
import StateMachineCore
import StateMachineEtcd
import StateMachineProtocol
import Subprocess
import TestSupport
import Testing

/// The times of a machine that several hosts share, over a real etcd, as clients see them at the daemons' sockets.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedTimesTests {
    /// Two seconds: longer than it takes to ask three daemons, and to kill one.
    private static let machine = """
        machine: gate
        start: closed
        to: any
        events: {touch: {}, pause: {}, go: {}}
        states:
          closed: {}
          open: {after: {2s: closed}, when: {touch: stay}}
          timed:
            fields: {left: {type: time}}
            after: {"{left}": closed}
            when: {pause: "paused left={remaining}"}
          paused:
            fields: {left: {type: time}}
            when: {go: timed}
          new: {}
          paid: {}
        groups:
          order: {states: [new, paid], after: {1h: closed}}
        """

    private static func run(
        _ host: String,
        at endpoint: EtcdEndpoint,
        in directory: String,
        isDurable: Bool = false,
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await SharedDaemonsTests.run(
            host,
            at: endpoint,
            in: directory,
            machine: Self.machine,
            isDurable: isDurable,
            // What is late on a busy machine is not to fail.
            arguments: [
                "--check-interval", "500ms", "--stale-after", "3s", "--call-timeout", "1s",
                "--set-timeout", "5s",
            ]
        ) { daemon in
            try await SharedDaemonsTests.isUp(daemon)
            try await body(daemon)
        }
    }

    private static func set(_ state: String, at daemon: DaemonProcess) async throws -> JSONLine {
        let line = try await daemon.ask(\.control, #"{"op":"set",\#(state)}"#)
        #expect(line.ok == true, "\(line)")
        return line
    }

    /// What is due there, once it is where a quorum is.
    private static func due(_ daemon: DaemonProcess) async throws -> String? {
        let line = try await daemon.ask(\.control, #"{"op":"get","fresh":true}"#)
        #expect(line.ok == true, "\(line)")
        return line.item("due")?.string("at")
    }

    /// The microseconds from one time of a line to another.
    private static func time(from first: String?, to second: String?) throws -> Int64 {
        let times = [first, second].compactMap { $0.flatMap { WallTime(rfc3339: $0) } }
        guard times.count == 2 else {
            throw TestFailure("no times: \(first ?? "-") \(second ?? "-")")
        }
        return times[1].microseconds - times[0].microseconds
    }

    @Test(.timeLimit(.minutes(2)))
    func aTimeComesOnceAndAllHostsSayTheSameOfIt() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    try await Self.run("c", at: endpoint, in: directory) { c in
                        let daemons = [a, b, c]
                        var watches: [LineSocket] = []
                        for daemon in daemons {
                            watches.append(try await SharedDaemonsTests.watch(daemon))
                        }
                        for round in 1...3 {
                            let opened = try await Self.set(
                                #""state":"open""#,
                                at: daemons[round % 3]
                            )
                            #expect(opened.seq == 2 * round - 1)
                            let due = opened.item("due")?.string("at")
                            for daemon in daemons { #expect(try await Self.due(daemon) == due) }
                            var seen: [[String]] = []
                            for watch in watches {
                                seen.append(try await SharedDaemonsTests.changes(watch, 2))
                            }
                            #expect(seen[0] == seen[1])
                            #expect(seen[0] == seen[2])
                            let closed = try JSONLine(seen[0][1])
                            #expect(closed.seq == 2 * round)
                            #expect(closed.state == "closed")
                            #expect(closed.string("cause") == "after 2s")
                            #expect(!closed.has("by"))
                            #expect(try Self.time(from: due, to: closed.string("at")) >= 0)
                        }
                        // Whoever was not first has made none.
                        for daemon in daemons {
                            let fresh = try await daemon.ask(
                                \.control,
                                #"{"op":"get","fresh":true}"#
                            )
                            #expect(fresh.seq == 6)
                        }
                    }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func theNextHostMovesTheMachineWhereTheFirstIsGone() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    let watch = try await SharedDaemonsTests.watch(b)
                    let opened = try await Self.set(#""state":"open""#, at: a)
                    try a.send(.kill)
                    let lines = try await SharedDaemonsTests.changes(watch, 2)
                    let closed = try JSONLine(lines[1])
                    #expect(closed.state == "closed")
                    let late = try Self.time(
                        from: opened.item("due")?.string("at"),
                        to: closed.string("at")
                    )
                    // It has left a tenth of a second to the first one, and not the time to live of its session.
                    #expect((100_000..<4_000_000).contains(late), "\(late)")
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aTimeThatCameWhileNoHostWasThereIsMadeOnce() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory, isDurable: true) { a in
                try await Self.run("b", at: endpoint, in: directory, isDurable: true) { b in
                    _ = try await Self.set(#""state":"open""#, at: a)
                    for daemon in [a, b] { try daemon.send(.kill) }
                }
            }
            try await Task.sleep(for: .seconds(2))
            try await Self.run("a", at: endpoint, in: directory, isDurable: true) { a in
                try await Self.run("b", at: endpoint, in: directory, isDurable: true) { b in
                    while try await b.ask(\.control, #"{"op":"get"}"#).state != "closed" {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    // Another time is waited for as ever.
                    _ = try await Self.set(#""state":"open""#, at: b)
                    let watch = try a.connect(\.events)
                    while try await watch.next().seq != 4 {}
                    for daemon in [a, b] {
                        let fresh = try await daemon.ask(\.control, #"{"op":"get","fresh":true}"#)
                        #expect(fresh.seq == 4)
                        #expect(fresh.state == "closed")
                    }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aTimeBeginsAnewAtWhicheverHost() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    let watch = try await SharedDaemonsTests.watch(a)
                    let opened = try await Self.set(#""state":"open""#, at: a)
                    let first = opened.item("due")?.string("at")
                    try await Task.sleep(for: .milliseconds(600))
                    let touched = try await b.ask(\.control, #"{"op":"send","event":"touch"}"#)
                    #expect(touched.ok == true, "\(touched)")
                    #expect(touched.seq == 1)
                    let due = try await Self.due(b)
                    #expect(try Self.time(from: first, to: due) >= 500_000)
                    #expect(try await Self.due(a) == due)
                    // The host that comes first makes it, and had to hear of that.
                    let closed = try JSONLine(try await SharedDaemonsTests.changes(watch, 2)[1])
                    #expect(closed.seq == 2)
                    #expect(try Self.time(from: due, to: closed.string("at")) >= 0)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aMoveThatAHoldOfAnotherHostDeniesIsMadeWhenThatIsReleased() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory) { a in
                try await Self.run("b", at: endpoint, in: directory) { b in
                    let watch = try await SharedDaemonsTests.watch(a)
                    let holder = try b.connect(\.control)
                    let hold = try await holder.ask(#"{"op":"hold","before":"closed"}"#)
                    let number = try #require(hold.int("hold"), "\(hold)")
                    _ = try await Self.set(#""state":"open""#, at: a)
                    while try await a.ask(\.control, #"{"op":"stats"}"#).item("overdue") == nil {
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    // By then it is tried every four seconds.
                    try await Task.sleep(for: .milliseconds(3200))
                    let released = WallTime.now.rfc3339
                    let end = try await holder.ask(#"{"op":"release","hold":\#(number)}"#)
                    #expect(end.ok == true, "\(end)")
                    let closed = try JSONLine(try await SharedDaemonsTests.changes(watch, 2)[1])
                    #expect(closed.seq == 2)
                    let late = try Self.time(from: released, to: closed.string("at"))
                    #expect((0..<3_000_000).contains(late), "\(late)")
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func whoComesLaterKnowsTheSame() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await Self.run("a", at: endpoint, in: directory, isDurable: true) { a in
                // From entering the group on, and a move inside goes on.
                let entered = try await Self.set(#""state":"new""#, at: a)
                try await Task.sleep(for: .milliseconds(50))
                _ = try await Self.set(#""state":"paid""#, at: a)
                let due = entered.item("due")?.string("at")
                #expect(try await Self.due(a) == due)
                try await Self.run("b", at: endpoint, in: directory, isDurable: true) { b in
                    #expect(try await Self.due(b) == due)
                    // What is left of a time is the same wherever it is paused, and goes on.
                    _ = try await Self.set(#""state":"timed","data":{"left":600000}"#, at: a)
                    let paused = try await b.ask(\.control, #"{"op":"send","event":"pause"}"#)
                    let left = try #require(paused.item("data")?.int("left"))
                    #expect((540_000...600_000).contains(left), "\(paused)")
                    _ = try await a.ask(\.control, #"{"op":"send","event":"go"}"#)
                    let timed = try await Self.due(b)
                    #expect(try await Self.due(a) == timed)
                    for daemon in [a, b] { try daemon.send(.kill) }
                    try await Self.run("c", at: endpoint, in: directory) { c in
                        let due = try await Self.due(c)
                        #expect(due == timed)
                    }
                }
            }
            // A host that knows it from its own disk.
            try await Self.run("a", at: endpoint, in: directory, isDurable: true) { a in
                let report = try await a.ask(\.control, #"{"op":"get","fresh":true}"#)
                let left = try #require(report.item("due")?.int("leftMs"))
                #expect((500_000...600_000).contains(left), "\(report)")
            }
        }
    }
}
#endif
