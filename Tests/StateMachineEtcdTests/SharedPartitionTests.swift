#if Cluster
import Glibc
import StateMachineEtcd
import StateMachineProtocol
import TestSupport
import Testing

/// What a host refuses at once that is cut off from the engine, as its clients see it, over a real etcd.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedPartitionTests {
    private static let open = #""op":"set","state":"open","data":{"by":"a"}"#
    private static let close = #""op":"set","state":"closed""#

    @Test(.timeLimit(.minutes(2)))
    func whatGuardsAreBeingAskedAboutIsRefusedOnceTheirHostsCannotBeReached() async throws {
        try await EtcdProcess.run { etcd, directory in
            let relay = try await Relay(to: etcd.endpoint)
            try await SharedDaemonsTests.run("a", at: relay.endpoint, in: directory) { a in
                try await SharedDaemonsTests.run("b", at: etcd.endpoint, in: directory) { b in
                    for daemon in [a, b] { try await SharedDaemonsTests.isUp(daemon) }
                    let (guardian, setter) = (try b.connect(\.control), try a.connect(\.control))
                    let other = try a.connect(\.control)
                    let taken = try await guardian.ask(
                        #"{"op":"guard","before":"open","timeoutMs":20000}"#
                    )
                    #expect(taken.ok == true, "\(taken)")
                    try setter.send("{\(Self.open)}")
                    #expect(try await guardian.next().type == "ask")
                    // It waits behind that.
                    try other.send("{\(Self.open)}")
                    let begun = ContinuousClock.now
                    try await relay.cut()
                    for client in [setter, other] {
                        let refused = try await client.next()
                        #expect(refused.error == "unavailable", "\(refused)")
                        #expect(!refused.has("unsure"))
                    }
                    // Nobody is asked about what cannot be done; a delay is not waited for either.
                    let again = try await setter.ask("{\(Self.open)}")
                    #expect(again.error == "unavailable", "\(again)")
                    #expect(begun.duration(to: .now) < .seconds(10))
                    try await relay.mend()
                    try await SharedDaemonsTests.isUp(a)
                    try setter.send("{\(Self.open)}")
                    var ask = try await guardian.next()
                    while ask.type != "ask" { ask = try await guardian.next() }
                    let question = try #require(ask.int("ask"))
                    try guardian.send(#"{"op":"vote","ask":\#(question),"allow":true}"#)
                    #expect(try await setter.next().ok == true)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func whatWaitsBehindASetOfWhichNobodyKnowsIsRefusedBeforeThatIsAnswered() async throws {
        try await EtcdProcess.run { etcd, directory in
            let pid = etcd.pid
            try await SharedDaemonsTests.run(
                "a",
                at: etcd.endpoint,
                in: directory,
                arguments: ["--stale-after", "1500ms", "--set-timeout", "6s"]
            ) { a in
                try await SharedDaemonsTests.isUp(a)
                let (first, other) = (try a.connect(\.control), try a.connect(\.control))
                kill(pid, SIGSTOP)
                let begun = ContinuousClock.now
                try first.send(#"{"id":1,\#(Self.open)}"#)
                // It is on its way before the second of these is read.
                for _ in 0..<2 { _ = try await other.ask(#"{"op":"get"}"#) }
                try first.send(#"{"id":2,\#(Self.close)}"#)
                try other.send("{\(Self.close)}")
                let refused = try await other.next()
                #expect(refused.error == "unavailable", "\(refused)")
                #expect(!refused.has("unsure"))
                #expect(begun.duration(to: .now) < .seconds(5))
                // One client is answered in the order in which it has asked.
                let unsure = try await first.next()
                #expect(begun.duration(to: .now) >= .seconds(5))
                #expect(unsure.int("id") == 1)
                #expect(unsure.error == "unavailable", "\(unsure)")
                #expect(unsure.bool("unsure") == true, "\(unsure)")
                let behind = try await first.next()
                #expect(behind.int("id") == 2)
                #expect(behind.error == "unavailable", "\(behind)")
                #expect(!behind.has("unsure"))
                kill(pid, SIGCONT)
            }
        }
    }
}
#endif
