import Foundation
import Subprocess
import TestSupport
import Testing

/// Patterns that name groups of a declared machine.
@Suite(.bounded)
struct GroupPatternTests {
    private static let worker = """
        start: ready
        events: {job: {id: string, image: string}}
        groups: {working: {states: [fetching, building, uploading]}}
        states:
          ready: {when: {job: fetching}}
          fetching: {fields: {id: string, image: string}}
          building: {fields: {id: string, image: string, step: {type: string, default: configure}}}
          uploading: {fields: {id: string}}
          reporting: {fields: {id: string, verdict: {values: [green, red]}}}
        """

    private func run(
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try Self.worker.write(toFile: file, atomically: true, encoding: .utf8)
            let ended = try await DaemonProcess.run(
                in: directory,
                arguments: ["--machine", file],
                body
            )
            #expect(ended.status == .exited(0))
        }
    }

    private static let job = #"{"op":"send","event":"job","data":{"id":"7","image":"i"}}"#

    @Test func aGroupStandsForItsStatesWhereverPatternsAreTaken() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            let watch = try daemon.connect(\.control)
            try watch.send(#"{"op":"watch","only":["working:id=7"]}"#)
            #expect(try await watch.next().state == "ready")
            let wait = try daemon.connect(\.control)
            try wait.send("wait working:id=7")
            let early =
                #"{"op":"set","state":"reporting","data":{"id":"1","verdict":"red"},"ifState":"working"}"#
            #expect(try await client.ask(early).error == "conflict")
            #expect(try await client.ask(Self.job).state == "fetching")
            let changed = try await watch.next()
            #expect(changed.state == "fetching" && changed.seq == 1)
            let reached = try await wait.next()
            #expect(reached.state == "fetching" && reached.string("matched") == "working:id=7")

            let holder = try daemon.connect(\.control)
            #expect(try await holder.ask(#"{"op":"hold","before":["working"]}"#).ok == true)
            #expect(try await client.ask("set uploading id=7").error == "denied")
            #expect(try await holder.ask("release 1").ok == true)
            let guardian = try daemon.connect(\.control)
            let before =
                #"{"op":"guard","before":[{"state":"working","data":{"id":"8"}}],"timeoutMs":60000}"#
            #expect(try await guardian.ask(before).ok == true)
            try client.send("set uploading id=8")
            let ask = try await guardian.next()
            #expect(ask.item("to")?.state == "uploading")
            try guardian.send(#"{"op":"vote","ask":\#(ask.int("ask") ?? 0),"allow":true}"#)
            #expect(try await client.next().state == "uploading")
            #expect(try await client.ask(early).state == "reporting")

            let history = try await daemon.statectl("--json", "history", "working")
            let lines = history.output.split(separator: "\n").dropLast()
            #expect(lines.count == 2, "\(history.output)")
            #expect(try await daemon.statectl("is", "working").status == .exited(1))
        }
    }

    @Test(arguments: [
        ("wait wroking", "there is no state or group \"wroking\"; did you mean working?"),
        (
            "wait working:image=x",
            "the states of working do not all have a field \"image\" of one type; they share id"
        ),
        ("wait working:id:=7", "id of working must be of type string, not number"),
        ("set working id=7", "\"working\" is a group; name one of its states"),
    ])
    func aWrongOneIsRefused(line: String, sentence: String) async throws {
        try await self.run { daemon in
            let refused = try await daemon.ask(\.control, line)
            #expect(refused.ok == false)
            #expect(refused.string("message") == sentence)
        }
    }

    @Test func describeListsThem() async throws {
        try await self.run { daemon in
            let described = try await daemon.ask(\.control, "describe")
            #expect(
                described.item("groups")?.strings("working")
                    == ["fetching", "building", "uploading"]
            )
            let text = try await daemon.statectl("describe").output
            #expect(text.contains("working   fetching, building, uploading"), "\(text)")
            #expect(text.contains("job(id: string, image: string)"), "\(text)")
        }
    }

    /// A group has its current states, whatever it had when the pattern was given.
    @Test func aNewFilesGroupsCount() async throws {
        try await withReloadedMachine(Self.worker) { machine, daemon in
            let watch = try daemon.connect(\.control)
            try watch.send(#"{"op":"watch","only":["working"]}"#)
            _ = try await watch.next()
            let wait = try daemon.connect(\.control)
            try wait.send(#"{"op":"wait","until":["working"]}"#)
            #expect(try await wait.ask("ping").ok == true)
            let holder = try daemon.connect(\.control)
            let held = try await holder.ask(#"{"op":"hold","before":["working"]}"#)
            let hold = try #require(held.int("hold"))
            try await machine.reload(
                daemon,
                Self.worker.replacing("building, uploading]", with: "uploading, reporting]")
            )
            #expect(try await watch.next().type == "declared")
            let client = try daemon.connect(\.control)
            #expect(try await client.ask("set reporting id=1 verdict=red").error == "denied")
            #expect(try await client.ask("set building id=1 image=i").ok == true)
            #expect(try await holder.ask("release \(hold)").ok == true)
            #expect(try await client.ask("set reporting id=2 verdict=red").ok == true)
            let changed = try await watch.next()
            #expect(changed.seq == 2 && changed.state == "reporting")
            #expect(try await wait.next().state == "reporting")
            #expect(try await machine.end(daemon) == 0)
        }
    }
}
