import Foundation
import Subprocess
import TestSupport
import Testing

/// A daemon whose machine is declared in a file.
@Suite(.bounded)
struct DeclaredMachineTests {
    private static let coffee = """
        machine: coffee
        to: [idle, brewing]
        start: idle
        always: [broken]
        events:
          brew: {cups: {type: integer, min: 1, max: 8}}
          cancel: {}
          poke: {}
          more: {}
        states:
          idle: {when: {brew: brewing, poke: ignore}}
          brewing:
            fields:
              cups: {type: integer, min: 1, max: 4}
              percent: {type: integer, min: 0, max: 100, default: 0}
            when: {cancel: idle, more: stay}
            after: {DELAY: ready}
          ready: {when: {brew: brewing, poke: again}}
          broken: {fields: {why: {type: string, max: 20}}, to: [idle]}
        """

    /// Runs a daemon with the machine; the coffee is ready after `delay`.
    private func run(
        delay: String = "1h",
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try Self.coffee.replacing("DELAY", with: delay)
                .write(toFile: file, atomically: true, encoding: .utf8)
            let ended = try await DaemonProcess.run(
                in: directory,
                arguments: ["--machine", file],
                body
            )
            #expect(ended.status == .exited(0))
        }
    }

    @Test
    func itsStatesAreSetAndEvaluatedAsTheFileSays() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            let start = try await client.ask("get")
            #expect(start.state == "idle")
            let far = try await client.ask(#"{"op":"set","state":"brewing","data":{"cups":5}}"#)
            #expect(far.error == "bad-data")
            #expect(far.string("message") == "cups=5: must be at most 4")
            #expect(try await client.ask("set brewing cups=2").ok == true)
            let illegal = try await client.ask("set ready")
            #expect(illegal.error == "illegal-transition")
            #expect(illegal.strings("allowed") == ["idle", "brewing", "broken"])
            #expect(try await client.ask("set broken why=steam").ok == true)
            #expect(try await client.ask("set brewing cups=1").error == "illegal-transition")
            #expect(try await client.ask("set idle").seq == 3)
        }
    }

    @Test
    func anEventLeadsWhereTheFileSays() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            let tooMany = try await client.ask("send brew cups=6")
            #expect(tooMany.error == "bad-data")
            #expect(tooMany.string("message") == "cups=6: must be at most 4")
            let ignored = try await client.ask("send poke")
            #expect(ignored.bool("handled") == true && ignored.bool("changed") == false)
            let brewing = try await client.ask("send brew cups=3")
            #expect(brewing.bool("handled") == true && brewing.bool("changed") == true)
            #expect(brewing.state == "brewing" && brewing.int("stay") == 1)
            let unhandled = try await client.ask("send brew cups=3")
            #expect(unhandled.ok == true && unhandled.bool("handled") == false)
            let unknown = try await client.ask("send grind")
            #expect(unknown.error == "unknown-event")
            #expect(unknown.strings("known") == ["brew", "cancel", "poke", "more"])
            let late = try await client.ask(#"{"op":"send","event":"cancel","ifStay":7}"#)
            #expect(late.error == "conflict")
            #expect(
                late.string("message")
                    == "expected stay 7, but the state is brewing(cups: 3, percent: 0) at seq 1"
            )
            let back = try await client.ask(#"{"op":"send","event":"cancel","ifStay":1}"#)
            #expect(back.state == "idle" && back.seq == 2)
        }
    }

    @Test
    func anUpdateKeepsTheStayAndItsDeadline() async throws {
        try await self.run { daemon in
            let watch = try daemon.connect(\.events)
            #expect(try await watch.next().int("stay") == 0)
            let client = try daemon.connect(\.control)
            let begun = try await client.ask("send brew cups=1")
            let due = try #require(begun.item("due"))
            #expect(due.state == "ready")
            let changed = try await client.ask("update percent=40")
            #expect(changed.bool("changed") == true && changed.seq == 2)
            #expect(changed.int("stay") == 1)
            #expect(changed.item("due")?.string("at") == due.string("at"))
            let same = try await client.ask("update percent=40")
            #expect(same.bool("changed") == false && same.seq == 2)
            let far = try await client.ask("update percent=400")
            #expect(far.string("message") == "percent=400: must be at most 100")
            // The entry's line has no `stay`, which is its own seq; the update's line has one.
            let entered = try await watch.next()
            #expect(entered.seq == 1 && !entered.has("stay"))
            #expect(entered.item("due")?.string("at") == due.string("at"))
            let updated = try await watch.next()
            #expect(updated.seq == 2 && updated.int("stay") == 1)
            let got = try await client.ask("get")
            #expect(got.item("due")?.int("leftMs") ?? 0 > 3_500_000)
        }
    }

    @Test
    func timeMovesItAndNobodyElseIsNamed() async throws {
        try await self.run(delay: "300ms") { daemon in
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            let client = try daemon.connect(\.control)
            _ = try await client.ask("send brew cups=1")
            #expect(try await watch.next().seq == 1)
            let moved = try await watch.next()
            #expect(moved.seq == 2 && moved.state == "ready")
            #expect(moved.string("cause") == "after 300ms")
            #expect(!moved.has("by"))
        }
    }

    @Test
    func anEventThatStaysHasTheDeadlineBeginAnew() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            let begun = try await client.ask("send brew cups=1")
            let stayed = try await client.ask("send more")
            #expect(stayed.bool("handled") == true && stayed.bool("changed") == false)
            #expect(stayed.seq == 1)
            let (first, second) = (
                begun.item("due")?.string("at"), stayed.item("due")?.string("at")
            )
            #expect(try #require(first) < #require(second))
            let got = try await client.ask("get")
            #expect(got.item("due")?.string("at") == second)
        }
    }

    @Test
    func aMoveThatIsHeldIsMadeWhenTheHoldHasGone() async throws {
        try await self.run(delay: "200ms") { daemon in
            let watch = try daemon.connect(\.events)
            _ = try await watch.next()
            let holder = try daemon.connect(\.control)
            let held = try await holder.ask(#"{"op":"hold","before":["ready"]}"#)
            #expect(held.ok == true)
            _ = try await daemon.ask(\.control, "send brew cups=1")
            #expect(try await watch.next().seq == 1)
            // The deadline passes meanwhile, and is refused at least once.
            try await Task.sleep(for: .milliseconds(400))
            #expect(try await daemon.ask(\.control, "get").state == "brewing")
            holder.vanish()
            let moved = try await watch.next()
            #expect(moved.state == "ready" && moved.seq == 2)
        }
    }

    @Test
    func aDeadlineOutlivesAKilledDaemon() async throws {
        try await withTemporaryDirectory { directory in
            let state = "\(directory)/state"
            let file = "\(directory)/machine.yaml"
            try Self.coffee.replacing("DELAY", with: "1500ms")
                .write(toFile: file, atomically: true, encoding: .utf8)
            let arguments = ["--machine", file, "--state-directory", state]
            let killed = try await DaemonProcess.run(in: directory, arguments: arguments) {
                daemon in
                _ = try await daemon.ask(\.control, "send brew cups=2")
                try daemon.send(.kill)
            }
            #expect(killed.status == .signaled(9))
            let ended = try await DaemonProcess.run(in: directory, arguments: arguments) { daemon in
                let watch = try daemon.connect(\.events)
                let start = try await watch.next()
                if start.state == "brewing" {
                    let moved = try await watch.next()
                    #expect(moved.state == "ready" && moved.seq == 2)
                    #expect(moved.string("cause") == "after 1s500ms")
                } else {
                    #expect(start.state == "ready" && start.seq == 2)
                }
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test
    func anUpdateDoesNotGoAheadOfWhatWasAskedForBefore() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try Self.coffee.replacing("DELAY", with: "1h")
                .write(toFile: file, atomically: true, encoding: .utf8)
            let arguments = ["--machine", file, "--state-directory", "\(directory)/state"]
            let ended = try await DaemonProcess.run(in: directory, arguments: arguments) { daemon in
                let client = try daemon.connect(\.control)
                let update = #"{"op":"update","data":{"percent":9},"id":2}"#
                try client.send(
                    #"{"op":"send","event":"brew","data":{"cups":2},"id":1}"# + "\n" + update
                )
                let first = try await client.next()
                let second = try await client.next()
                #expect(first.int("id") == 1 && first.seq == 1)
                #expect(second.int("id") == 2 && second.seq == 2 && second.int("stay") == 1)
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test
    func updatesDoNotSpoilAnOpenQuestion() async throws {
        try await self.run { daemon in
            let guardian = try daemon.connect(\.control)
            #expect(try await guardian.ask(#"{"op":"guard","before":["idle"]}"#).ok == true)
            let client = try daemon.connect(\.control)
            _ = try await client.ask("send brew cups=1")
            try client.send("send cancel")
            let question = try await guardian.next()
            let other = try daemon.connect(\.control)
            try other.send("update percent=5")
            try guardian.send(#"{"op":"vote","ask":\#(question.int("ask") ?? 0),"allow":true}"#)
            #expect(try await client.next().state == "idle")
            // When its turn comes, the field no longer exists.
            #expect(try await other.next().error == "bad-data")
        }
    }

    @Test
    func updatesDoNotMakeAStateLongerThanItMayBe() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try """
            start: notes
            states:
              notes: {fields: {one: {type: string, default: a}, two: {type: string, default: b}}}
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let ended = try await DaemonProcess.run(
                in: directory,
                arguments: ["--machine", file]
            ) { daemon in
                let client = try daemon.connect(\.control)
                let long = String(repeating: "x", count: 40_000)
                let first = try await client.ask(#"{"op":"update","data":{"one":"\#(long)"}}"#)
                #expect(first.bool("changed") == true)
                let second = try await client.ask(#"{"op":"update","data":{"two":"\#(long)"}}"#)
                #expect(second.error == "too-long")
                #expect(try await client.ask("get").seq == 1)
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test
    func aFileWithMistakesIsRefusedWithTheirPlaces() async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try "start: on\nstates:\n  of: {to: [on]}\n"
                .write(toFile: file, atomically: true, encoding: .utf8)
            let ended = try await BuiltProduct.statemachine.run([
                "--runtime-directory", directory, "--machine", file,
            ])
            #expect(ended.status == .exited(78))
            #expect(ended.errors.contains("\(file):1:8: "), "\(ended.errors)")
            #expect(ended.errors.contains("\(file):3:"), "\(ended.errors)")
        }
    }

    @Test
    func aMachineThatIsNotDeclaredHasNoEvents() async throws {
        try await DaemonProcess.run { daemon in
            let client = try daemon.connect(\.control)
            let sent = try await client.ask("send brew")
            #expect(sent.error == "unknown-event")
            #expect(sent.string("message") == "this machine has no events; set a state")
            #expect(try await client.ask("update value=true").error == "unknown-op")
            let described = try await client.ask("describe")
            #expect(described.strings("operations")?.contains("send") == false)
        }
    }
}
