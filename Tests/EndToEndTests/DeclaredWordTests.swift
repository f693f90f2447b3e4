import Foundation
import Subprocess
import TestSupport
import Testing

/// Words for fields of a declared machine, over the socket and with statectl.
@Suite(.bounded)
struct DeclaredWordTests {
    private static let player = """
        start: idle
        events:
          play: {title: string, volume: {type: integer, optional: true}, loud: {type: boolean, optional: true}}
          turn: {by: {type: integer, min: -10, max: 10}}
        states:
          idle: {when: {play: playing}}
          playing:
            fields:
              title: string
              volume: {type: integer, min: 0, max: 100, default: 40}
              loud: {type: boolean, default: "false"}
              note: {type: string, optional: true}
              gain: {type: number, optional: true}
        """

    private func run(
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let file = "\(directory)/machine.yaml"
            try Self.player.write(toFile: file, atomically: true, encoding: .utf8)
            let ended = try await DaemonProcess.run(
                in: directory,
                arguments: ["--machine", file],
                body
            )
            #expect(ended.status == .exited(0))
        }
    }

    @Test(arguments: ["null", "true", "2", "[1]", "\"quoted\"", "{}"])
    func whatLooksLikeJSONIsTextWhereTheFieldIsText(text: String) async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            let sent = try await client.ask("send play title=\(text) volume=3 loud=true")
            #expect(sent.item("data")?.string("title") == text)
            #expect(sent.item("data")?.int("volume") == 3)
            #expect(sent.item("data")?.bool("loud") == true)
            let updated = try await daemon.statectl("--json", "update", "note=\(text)")
            #expect(updated.status == .exited(0), "\(updated.errors)")
            #expect(try await client.ask("get").item("data")?.string("note") == text)
            let set = try await daemon.statectl(
                "--json",
                "set",
                "playing",
                "title=\(text)",
                "gain=1"
            )
            #expect(set.status == .exited(0), "\(set.errors)")
            #expect(try await client.ask("get").item("data")?.string("title") == text)
            let again = try await daemon.statectl("is", "playing:title=\(text)")
            #expect(again.status == .exited(0), "\(again.errors)")
        }
    }

    @Test(arguments: [
        (["set", "playing", "title=a", "volume=140"], "volume=140: must be at most 100"),
        (["set", "playing", "title=a", "volume=x"], "volume=x: write a whole number"),
        (["set", "playing", "title=a", "loud=yes"], "loud=yes: write true or false"),
        (["set", "playing", "title:=1"], "title=1: write a string"),
        (["set", "playing", "titel=a"], "\"playing\" has no field \"titel\"; did you mean title?"),
        (["set", "playing"], "\"playing\" needs \"title\", a string\n"),
        (["send", "turn"], "\"turn\" needs \"by\", an integer from -10 to 10\n"),
        (["is", "playing:titel=a"], "\"playing\" has no field \"titel\"; did you mean title?"),
        (["is", "playing:volume=x"], "volume=x: write a whole number"),
        (["is", "playing:volume=140"], "volume=140: must be at most 100"),
        (["is", "playing:volume=>50"], "volume=>50: write a whole number"),
        (["wait", "playing:loud=yes"], "loud=yes: write true or false"),
        (["set", "idle", "--if-state", "playing:volume=x"], "volume=x: write a whole number"),
        (
            ["set", "playing", "a", "b"],
            "\"b\" in the command line is a second value without a name"
        ),
        (["send", "play", "title=a", "volume=1.0"], "volume=1.0: write a whole number"),
    ])
    func aWrongOneIsRefusedAsInTheFile(words: [String], sentence: String) async throws {
        try await self.run { daemon in
            let ended = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory] + words
            )
            #expect(ended.status == .exited(2))
            #expect(ended.errors.contains(sentence), "\(ended.errors)")
        }
    }

    @Test func aValueAloneIsThatOfTheFieldThatHasToBeGiven() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            let sent = try await client.ask("send play null")
            #expect(sent.item("data")?.string("title") == "null")
            let set = try await daemon.statectl("set", "playing", "a b", "volume=3")
            #expect(set.status == .exited(0), "\(set.errors)")
            #expect(try await client.ask("get").item("data")?.string("title") == "a b")
            let several = try await daemon.statectl("set", "playing", "title=c", "7")
            #expect(several.status == .exited(2))
            #expect(
                several.errors.contains("could be volume or loud or note or gain of playing"),
                "\(several.errors)"
            )
            #expect(try await client.ask("update 7").error == "bad-data")
        }
    }

    @Test func aValueAloneIsThatOfTheOnlyField() async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let set = try await daemon.statectl("set", "authentication", "active")
                #expect(set.status == .exited(0), "\(set.errors)")
                let state = try await daemon.ask(\.control, "get")
                #expect(state.item("data")?.string("phase") == "active")
                let found = try await daemon.statectl("is", "authentication:active")
                #expect(found.status == .exited(0), "\(found.errors)")
                let wrong = try await daemon.statectl("set", "ready", "active")
                #expect(wrong.status == .exited(2))
                #expect(wrong.errors.contains("value of ready"), "\(wrong.errors)")
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test func nullIsAbsent() async throws {
        try await self.run { daemon in
            let client = try daemon.connect(\.control)
            #expect(try await client.ask(#"{"op":"set","state":"idle","data":null}"#).ok == true)
            let sent = try await client.ask(
                #"{"op":"send","event":"play","data":{"title":"a","volume":null,"loud":null}}"#
            )
            #expect(sent.item("data")?.int("volume") == 40)
            let set = try await client.ask(
                #"{"op":"set","state":"playing","data":{"title":"b","note":null,"gain":1.5}}"#
            )
            #expect(set.item("data")?.has("note") == false)
            let updated = try await client.ask(#"{"op":"update","data":{"gain":null,"note":"n"}}"#)
            #expect(updated.item("data")?.has("gain") == false)
            #expect(updated.item("data")?.string("note") == "n")
            #expect(try await client.ask("update note:=null").item("data")?.has("note") == false)
            let needed = try await client.ask("update title:=null")
            #expect(needed.error == "bad-data")
            let none = try await client.ask(#"{"op":"update","data":null}"#)
            #expect(none.string("message") == "update needs the key \"data\"")
            let bare = try await client.ask(#"{"op":"send","event":"play","data":null}"#)
            #expect(bare.string("message") == "\"play\" needs \"title\", a string")
        }
    }

    @Test func aWholeObjectComesFromTheCommandLineOrFromStandardInput() async throws {
        try await self.run { daemon in
            let given = try await daemon.statectl(
                "set",
                "playing",
                "--data",
                #"{"title":"null","volume":7}"#
            )
            #expect(given.status == .exited(0), "\(given.errors)")
            #expect(try await daemon.ask(\.control, "get").item("data")?.string("title") == "null")
            let read = try await BuiltProduct.statectl.run(
                ["--runtime-directory", daemon.directory, "update", "--data", "-"],
                input: "{\"title\":\"b\",\n \"note\":\"c\"}\n"
            )
            #expect(read.status == .exited(0), "\(read.errors)")
            #expect(try await daemon.ask(\.control, "get").item("data")?.string("note") == "c")
            let wrong = try await daemon.statectl("update", "--data", "[1]")
            #expect(wrong.status == .exited(2))
            #expect(wrong.errors.contains("--data is not a JSON object"), "\(wrong.errors)")
        }
    }
}
