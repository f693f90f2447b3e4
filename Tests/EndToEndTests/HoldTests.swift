import Foundation
import Subprocess
import TestSupport
import Testing

/// Holds, which deny a state without asking anybody.
@Suite(.bounded)
struct HoldTests {
    @Test
    func aBlockingHoldDeniesWithItsReason() async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            let number = try await holder.hold("ready", #""why":"backup runs""#)
            let setter = try daemon.connect(\.control)
            let denied = try await setter.ask("set ready value=true")
            #expect(denied.error == "denied")
            let by = try #require(denied.items("by"))
            #expect(by.map { $0.int("hold") } == [number])
            #expect(by.first?.string("why") == "backup runs")
            #expect(by.first?.has("uid") == true)
            #expect(by.first?.int("pid") == Int(ProcessInfo.processInfo.processIdentifier))
            #expect(try await setter.ask("set authentication phase=active").ok == true)
            holder.vanish()
        }
    }

    @Test
    func everyHoldThatBlocksIsNamed() async throws {
        try await DaemonProcess.run { daemon in
            let one = try daemon.connect(\.control)
            let two = try daemon.connect(\.control)
            let first = try await one.hold("ready", #""why":"backup runs""#)
            _ = try await one.hold("authentication", #""why":"elsewhere""#)
            _ = try await one.hold("ready:value=false", #""why":"only the other way""#)
            _ = try await one.hold("ready", #""mode":"delay","maxMs":60000"#)
            let last = try await two.hold("ready:value=true", #""mode":"block""#)
            let setter = try daemon.connect(\.control)
            let denied = try await setter.ask("set ready value=true")
            #expect(denied.items("by")?.map { $0.int("hold") } == [first, last])
            #expect(denied.items("by")?.map { $0.string("why") } == ["backup runs", "held"])
            #expect(
                denied.string("message")
                    == "denied by hold \(first) (backup runs), hold \(last) (held)"
            )
            #expect(try await setter.ask("release \(first)").ok == true)
            let still = try await setter.ask("set ready value=true")
            #expect(still.items("by")?.map { $0.int("hold") } == [last])
            one.vanish()
            two.vanish()
        }
    }

    @Test
    func aDenialNamesSixteenAndCountsTheRest() async throws {
        try await DaemonProcess.run { daemon in
            let holders = try (0..<3).map { _ in try daemon.connect(\.control) }
            for holder in holders {
                for _ in 1...8 { _ = try await holder.hold("ready", #""mode":"block""#) }
            }
            let denied = try await daemon.ask(\.control, "set ready value=true")
            #expect(denied.items("by")?.compactMap { $0.int("hold") } == Array(1...16))
            #expect(denied.int("more") == 8)
            #expect(denied.string("message")?.hasSuffix("hold 16 (held) and 8 more") == true)
            for holder in holders { holder.vanish() }
        }
    }

    @Test
    func aDelayingHoldPostponesUntilItIsReleased() async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            let number = try await holder.hold("ready", #""mode":"delay","maxMs":60000"#)
            let setter = try daemon.connect(\.control)
            try setter.send(raw: "set ready value=true\nget\n")
            #expect(try await setter.next().seq == 0)
            let other = try daemon.connect(\.control)
            #expect(try await other.ask("release \(number)").ok == true)
            #expect(try await setter.next().seq == 1)
            #expect(try await other.ask("release \(number)").error == "not-found")
            holder.vanish()
        }
    }

    @Test
    func aDelayEndsByItself() async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            _ = try await holder.hold("ready", #""mode":"delay","maxMs":100"#)
            let setter = try daemon.connect(\.control)
            try setter.send(raw: "set ready value=true\nget\n")
            #expect(try await setter.next().seq == 0)
            let late = try await setter.next()
            #expect(late.bool("changed") == true)
            #expect(late.seq == 1)
            holder.vanish()
        }
    }

    @Test(arguments: [true, false])
    func holdsEndWithTheirConnection(bothWays: Bool) async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            _ = try await holder.hold("authentication", #""mode":"block""#)
            _ = try await holder.hold("ready", #""mode":"delay","maxMs":60000"#)
            let setter = try daemon.connect(\.control)
            #expect(try await setter.ask("set authentication phase=idle").error == "denied")
            try setter.send(raw: "set ready value=true\nget\n")
            #expect(try await setter.next().seq == 0)
            if bothWays { holder.vanish() } else { holder.endInput() }
            #expect(try await setter.next().seq == 1)
            #expect(try await setter.ask("set authentication phase=idle").seq == 2)
            if !bothWays { #expect(try await holder.nextLine() == nil) }
        }
    }

    @Test
    func aHoldDeniesOnlyWhatItsPatternMatches() async throws {
        try await DaemonProcess.run { daemon in
            let holders = [try daemon.connect(\.control), try daemon.connect(\.control)]
            let first = try await holders[0].hold("ready:value=true", #""why":"a""#)
            _ = try await holders[1].hold("ready:value=false", #""why":"b""#)
            let denied = try await daemon.ask(\.control, "set ready value=true")
            #expect(denied.items("by")?.map { $0.int("hold") } == [first])
            for holder in holders { holder.vanish() }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs a second user"))
    func anotherUserMayNotRelease() async throws {
        try await DaemonProcess.run { daemon in
            let holder = try daemon.connect(\.control)
            let number = try await holder.hold("ready", #""why":"mine""#)
            try daemon.admitEverybody()
            #expect(try await daemon.askAsForeigner("release \(number)").error == "forbidden")
            #expect(try await daemon.ask(\.control, "set ready value=true").error == "denied")
            holder.vanish()
        }
    }
}
