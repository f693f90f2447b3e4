#if Cluster
import Foundation
import Glibc
import StateMachineEtcd
import StateMachineProtocol
import TestSupport
import Testing

/// Guards of one host that are asked before another changes the machine, over a real etcd.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedGuardTests {
    private static let open = #"{"op":"set","state":"open","data":{"by":"a"},"cause":"deploy"}"#
    private static let close = #"{"op":"set","state":"closed"}"#

    private static func run(
        _ body: @escaping @Sendable (_ a: DaemonProcess, _ b: DaemonProcess) async throws -> Void
    ) async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await SharedDaemonsTests.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.run("b", at: endpoint, in: directory) { b in
                    for daemon in [a, b] { try await SharedDaemonsTests.isUp(daemon) }
                    try await body(a, b)
                }
            }
        }
    }

    /// Takes a guard there, and has its client answer each question.
    private static func `guard`(
        _ daemon: DaemonProcess,
        _ terms: String = ""
    ) async throws -> (client: LineSocket, number: Int) {
        let client = try daemon.connect(\.control)
        let taken = try await client.ask(#"{"op":"guard","before":"open"\#(terms)}"#)
        return (client, try #require(taken.int("guard"), "\(taken)"))
    }

    @Test(.timeLimit(.minutes(2)))
    func aGuardAtOneHostSaysWhetherAnotherMayChangeTheMachine() async throws {
        try await Self.run { a, b in
            let (client, number) = try await Self.guard(b, #","timeoutMs":20000"#)
            let setter = try a.connect(\.control)
            for round in 0..<50 {
                let mayOpen = round % 2 == 1
                try setter.send(Self.open)
                var ask = try await client.next()
                while ask.type != "ask" { ask = try await client.next() }
                #expect(ask.item("to")?.string("state") == "open")
                #expect(ask.item("by")?.string("host") == "a")
                #expect(ask.string("cause") == "deploy")
                let question = try #require(ask.int("ask"))
                let vote =
                    mayOpen ? #""allow":true"# : #""allow":false,"why":"not now""#
                try client.send(#"{"op":"vote","ask":\#(question),\#(vote)}"#)
                #expect(try await client.next().ok == true)
                let answer = try await setter.next()
                if mayOpen {
                    #expect(answer.ok == true, "round \(round): \(answer)")
                    #expect(try await setter.ask(Self.close).ok == true)
                } else {
                    #expect(answer.error == "denied", "round \(round): \(answer)")
                    let denial = answer.items("by")?.first
                    #expect(denial?.int("guard") == number)
                    #expect(denial?.string("host") == "b")
                    #expect(denial?.string("why") == "not now")
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["allow", "deny"])
    func theSilenceOfAGuardCountsAsItHasSaid(silence: String) async throws {
        try await Self.run { a, b in
            let (client, number) = try await Self.guard(
                b,
                #","timeoutMs":300,"onTimeout":"\#(silence)""#
            )
            let answer = try await a.ask(\.control, Self.open)
            #expect(try await client.next().type == "ask")
            if silence == "allow" {
                #expect(answer.ok == true, "\(answer)")
            } else {
                #expect(answer.error == "denied", "\(answer)")
                #expect(answer.items("by")?.first?.int("guard") == number)
                #expect(answer.items("by")?.first?.string("why") == "timeout")
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aGuardThatVanishesIsWaitedForNoLonger() async throws {
        try await Self.run { a, b in
            let (client, _) = try await Self.guard(b, #","timeoutMs":20000,"onTimeout":"deny""#)
            let setter = try a.connect(\.control)
            try setter.send(Self.open)
            #expect(try await client.next().type == "ask")
            client.vanish()
            #expect(try await setter.next().ok == true)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func guardsOfSeveralHostsAreAskedTogetherAndTheFirstNoDecides() async throws {
        try await Self.run { a, b in
            let (own, _) = try await Self.guard(a, #","timeoutMs":20000"#)
            let (first, _) = try await Self.guard(b, #","timeoutMs":20000"#)
            let (second, number) = try await Self.guard(b, #","timeoutMs":20000"#)
            let setter = try a.connect(\.control)
            try setter.send(Self.open)
            for client in [own, first] { #expect(try await client.next().type == "ask") }
            let ask = try await second.next()
            try second.send(#"{"op":"vote","ask":\#(ask.int("ask") ?? 0),"allow":false}"#)
            let denied = try await setter.next()
            #expect(denied.error == "denied")
            #expect(denied.items("by")?.first?.int("guard") == number)
        }
    }
}
#endif
