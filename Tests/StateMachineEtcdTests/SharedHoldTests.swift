#if Cluster
import Foundation
import Glibc
import StateMachineEtcd
import StateMachineProtocol
import Subprocess
import TestSupport
import Testing

/// Holds of one host as the clients of another meet them, over a real etcd.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedHoldTests {
    private static let open = #"{"op":"set","state":"open","data":{"by":"a"}}"#
    private static let close = #"{"op":"set","state":"closed"}"#
    private static let hold = #"{"op":"hold","before":"open","why":"backup"}"#

    /// Runs the daemons of hosts a and b, the second one at a place of its own.
    private static func run(
        at endpoint: EtcdEndpoint,
        and other: EtcdEndpoint? = nil,
        in directory: String,
        _ body: @escaping @Sendable (_ a: DaemonProcess, _ b: DaemonProcess) async throws -> Void
    ) async throws {
        let other = other ?? endpoint
        try await SharedDaemonsTests.run("a", at: endpoint, in: directory) { a in
            try await SharedDaemonsTests.run("b", at: other, in: directory) { b in
                for daemon in [a, b] { try await SharedDaemonsTests.isUp(daemon) }
                try await body(a, b)
            }
        }
    }

    /// Opens the gate at that daemon, as soon as nobody denies it; returns how long that took.
    private static func opening(_ daemon: DaemonProcess) async throws -> Duration {
        let setter = try daemon.connect(\.control)
        return try await ContinuousClock().measure {
            var set = try await setter.ask(Self.open)
            while set.error == "denied" { set = try await setter.ask(Self.open) }
            #expect(set.ok == true, "\(set)")
        }
    }

    /// Opens it in the same way; returns when it was open.
    private static func opened(_ daemon: DaemonProcess) async throws -> ContinuousClock.Instant {
        _ = try await Self.opening(daemon)
        return ContinuousClock.now
    }

    @Test(.timeLimit(.minutes(2)))
    func whoeverSetsAfterAHoldWasAnsweredIsDeniedEachTime() async throws {
        try await EtcdProcess.run { etcd, directory in
            try await Self.run(at: etcd.endpoint, in: directory) { a, b in
                let (setter, holder) = (try a.connect(\.control), try b.connect(\.control))
                for round in 0..<300 {
                    let held = try await holder.ask(Self.hold)
                    let number = try #require(held.int("hold"), "\(held)")
                    #expect(!held.has("kept"))
                    let denied = try await setter.ask(Self.open)
                    #expect(denied.error == "denied", "round \(round): \(denied)")
                    let denial = denied.items("by")?.first
                    #expect(denial?.int("hold") == number)
                    #expect(denial?.string("host") == "b")
                    #expect(denial?.string("why") == "backup")
                    #expect(denial?.int("uid") == Int(geteuid()))
                    #expect(
                        denied.string("message") == "denied by hold \(number) at b (backup)"
                    )
                    // It is released where it was taken, and nowhere else.
                    let release = #"{"op":"release","hold":\#(number)}"#
                    let elsewhere = try await setter.ask(release)
                    #expect(elsewhere.error == "not-found")
                    #expect(elsewhere.string("message")?.contains("host b") == true)
                    #expect(try await holder.ask(release).ok == true)
                    let opened = try await setter.ask(Self.open)
                    #expect(opened.ok == true, "round \(round): \(opened)")
                    #expect(try await setter.ask(Self.close).ok == true)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func whatIsHeldElsewhereIsShownAndEndsWithItsConnection() async throws {
        try await EtcdProcess.run { etcd, directory in
            try await Self.run(at: etcd.endpoint, in: directory) { a, b in
                let holder = try b.connect(\.control)
                let number = try #require(try await holder.ask(Self.hold).int("hold"))
                // Whoever asks a quorum has heard of it.
                #expect(try await a.ask(\.control, #"{"op":"get","fresh":true}"#).ok == true)
                let stats = try await a.ask(\.control, #"{"op":"stats"}"#)
                let row = try #require(stats.items("holds")?.first)
                #expect(row.int("hold") == number)
                #expect(row.string("host") == "b")
                #expect(row.strings("before") == ["open"])
                let own = try await b.ask(\.control, #"{"op":"stats"}"#).items("holds")?.first
                #expect(own?.string("host") == "b")
                let get = try await a.ask(\.control, #"{"op":"get","possible":true}"#)
                let possible = get.item("possible")?.items("set")?
                    .first { $0.string("state") == "open" }
                #expect(possible?.string("error") == "denied", "\(get)")
                #expect(possible?.items("by")?.first?.string("host") == "b")
                // Two hosts may have the same number, and are told apart.
                let second = try await a.ask(
                    \.control,
                    #"{"op":"hold","before":"open","why":"two"}"#
                )
                #expect(second.ok == true, "\(second)")
                holder.vanish()
                _ = try await Self.opening(a)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHoldThatDelaysIsWaitedForUntilItIsReleasedOrItsTimeIsOver() async throws {
        try await EtcdProcess.run { etcd, directory in
            try await Self.run(at: etcd.endpoint, in: directory) { a, b in
                let (setter, holder) = (try a.connect(\.control), try b.connect(\.control))
                let delay = #"{"op":"hold","before":"open","mode":"delay","maxMs":"#
                let short = try await holder.ask(delay + "300}")
                let begun = ContinuousClock.now
                #expect(try await setter.ask(Self.open).ok == true)
                #expect(begun.duration(to: .now) >= .milliseconds(300))
                #expect(try await setter.ask(Self.close).ok == true)
                let long = try await holder.ask(delay + "60000}")
                #expect(
                    try await holder.ask(#"{"op":"release","hold":\#(short.int("hold") ?? 0)}"#).ok
                        == true
                )
                try setter.send(Self.open)
                #expect(
                    try await holder.ask(#"{"op":"release","hold":\#(long.int("hold") ?? 0)}"#).ok
                        == true
                )
                #expect(try await setter.next().ok == true)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHoldWithANameOutlivesItsDaemonAndIsReleasedWhereItWasTaken() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await SharedDaemonsTests.run("a", at: endpoint, in: directory) { a in
                let setter = try a.connect(\.control)
                let named =
                    #"{"op":"hold","before":"open","as":"night","untilMs":3600000,"why":"night"}"#
                try await SharedDaemonsTests.run("b", at: endpoint, in: directory) { b in
                    for daemon in [a, b] { try await SharedDaemonsTests.isUp(daemon) }
                    let held = try await b.ask(\.control, named)
                    #expect(held.ok == true, "\(held)")
                    // It is renewed under its number, and at no other host.
                    #expect(try await b.ask(\.control, named).int("hold") == held.int("hold"))
                    #expect(try await setter.ask(named).error == "forbidden")
                    #expect(try await b.ask(\.control, Self.open).error == "denied")
                }
                // Its daemon has ended, and its session.
                let denied = try await setter.ask(Self.open)
                #expect(denied.error == "denied", "\(denied)")
                #expect(denied.items("by")?.first?.string("as") == "night")
                let release = #"{"op":"release","as":"night"}"#
                #expect(try await setter.ask(release).error == "not-found")
                try await SharedDaemonsTests.run("b", at: endpoint, in: directory) { b in
                    try await SharedDaemonsTests.isUp(b)
                    #expect(try await b.ask(\.control, Self.open).error == "denied")
                    // No number is given twice.
                    let other = try await b.ask(\.control, Self.hold)
                    #expect(other.int("hold") == 2, "\(other)")
                    #expect(try await b.ask(\.control, release).ok == true)
                }
                #expect(try await setter.ask(Self.open).ok == true)
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHoldWhoseTimeIsOverIsRemovedThoughItsHostNeverComesBack() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            @Sendable func keys() async throws -> [Substring] {
                try await etcd.etcdctl(
                    "get",
                    "--prefix",
                    "--keys-only",
                    "/statemachine/v1/gate/voters/"
                ).split(whereSeparator: \.isNewline)
            }
            try await SharedDaemonsTests.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                try await SharedDaemonsTests.run("b", at: endpoint, in: directory) { b in
                    try await SharedDaemonsTests.isUp(b)
                    for (name, time) in [("short", 5000), ("long", 3_600_000)] {
                        let held = try await b.ask(
                            \.control,
                            #"{"op":"hold","before":"open","as":"\#(name)","untilMs":\#(time)}"#
                        )
                        #expect(held.ok == true, "\(held)")
                    }
                    try b.send(.kill)
                }
                #expect(try await keys().count == 2)
                while try await keys().count == 2 {
                    try await Task.sleep(for: .milliseconds(100))
                }
                #expect(try await keys() == ["/statemachine/v1/gate/voters/b/2"])
                #expect(try await a.ask(\.control, Self.open).error == "denied")
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func whoeverTakesAHoldWithANameThatIsBeingTakenRenewsIt() async throws {
        try await EtcdProcess.run { etcd, directory in
            try await Self.run(at: etcd.endpoint, in: directory) { _, b in
                let clients = try [b.connect(\.control), b.connect(\.control)]
                for name in 0..<20 {
                    for client in clients {
                        try client.send(
                            #"{"op":"hold","before":"open","as":"n\#(name)","untilMs":3600000}"#
                        )
                    }
                    let (first, second) = (try await clients[0].next(), try await clients[1].next())
                    #expect(first.int("hold") != nil, "\(first)")
                    #expect(first.int("hold") == second.int("hold"), "\(second)")
                }
                let stats = try await clients[0].ask(#"{"op":"stats"}"#)
                #expect(stats.items("holds")?.count == 20, "\(stats)")
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHoldEndsSoonAfterItsDaemonWasKilled() async throws {
        try await EtcdProcess.run { etcd, directory in
            try await Self.run(at: etcd.endpoint, in: directory) { a, b in
                let holder = try b.connect(\.control)
                #expect(try await holder.ask(Self.hold).ok == true)
                try b.send(.kill)
                #expect(try await a.ask(\.control, Self.open).error == "denied")
                // Its session lasts five seconds, and etcd looks twice a second which have ended.
                #expect(try await Self.opening(a) < .seconds(7))
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHolderThatIsCutOffIsToldBeforeOthersSeeThatItsHoldIsGone() async throws {
        try await EtcdProcess.run { etcd, directory in
            let relay = try await Relay(to: etcd.endpoint)
            try await Self.run(at: etcd.endpoint, and: relay.endpoint, in: directory) { a, b in
                let (setter, holder) = (try a.connect(\.control), try b.connect(\.control))
                let other = try b.connect(\.control)
                #expect(try await holder.ask(Self.hold).ok == true)
                try await relay.cut()
                async let opened = Self.opened(a)
                let bye = try await holder.next()
                let told = ContinuousClock.now
                #expect(bye.type == "bye", "\(bye)")
                #expect(bye.string("reason") == "session")
                #expect(try await holder.nextLine() == nil)
                // Whoever held nothing is still served.
                #expect(try await other.ask(#"{"op":"get"}"#).state == "closed")
                #expect(try await other.ask(Self.hold).error == "unavailable")
                #expect(try await told < opened)
                try await relay.mend()
                try await SharedDaemonsTests.isUp(b)
                // The next session is another, and nothing is held by it.
                #expect(try await other.ask(Self.hold).ok == true)
                #expect(try await setter.ask(Self.close).ok == true)
                #expect(try await setter.ask(Self.open).error == "denied")
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHandOverKeepsWhatIsHeld() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await SharedDaemonsTests.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                let place = "\(directory)/b"
                mkdir(place, 0o700)
                let file = "\(place)/machine.yaml"
                try SharedDaemonsTests.machine.write(
                    toFile: file,
                    atomically: true,
                    encoding: .utf8
                )
                let notify = try NotifySocket(in: place, storeLimit: 16)
                func start() async throws -> ActivatedDaemon {
                    let daemon = try ActivatedDaemon(
                        .cluster,
                        in: place,
                        notify: notify,
                        handing: notify.store,
                        arguments: SharedDaemonsTests.arguments("b", endpoint)
                            + ["--machine", file]
                    )
                    try await notify.wait(for: "READY=1")
                    return daemon
                }
                let first = try await start()
                let holder = try first.connect(\.control)
                // Until it has a session it takes none.
                var held = try await holder.ask(Self.hold)
                while held.error == "unavailable" { held = try await holder.ask(Self.hold) }
                let number = try #require(held.int("hold"), "\(held)")
                let voters = "/statemachine/v1/gate/voters/"
                let before = try await etcd.etcdctl("get", voters, "--prefix")
                #expect(before.contains("voters/b/\(number)"), "\(before)")
                first.send(SIGUSR2)
                let (errors, status) = try await first.ended()
                #expect(status == 0, "\(errors)")
                // Nobody has it now, and it is still there.
                #expect(try await a.ask(\.control, Self.open).error == "denied")
                let second = try await start()
                #expect(try await a.ask(\.control, Self.open).error == "denied")
                #expect(try await holder.ask(#"{"op":"ping"}"#).ok == true)
                var released = try await holder.ask(#"{"op":"release","hold":\#(number)}"#)
                while released.error == "unavailable" {
                    released = try await holder.ask(#"{"op":"release","hold":\#(number)}"#)
                }
                #expect(released.ok == true, "\(released)")
                #expect(try await a.ask(\.control, Self.open).ok == true)
                try await second.end()
            }
        }
    }
}
#endif
