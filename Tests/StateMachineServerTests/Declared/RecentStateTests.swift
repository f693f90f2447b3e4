import TestSupport
import Testing

/// States that were set lately are found by how they were written.
@Suite(.bounded)
struct RecentStateTests {
    private static let note = """
        machine: note
        start: blank
        states:
          blank: {to: [blank, written]}
          written:
            fields: {text: string}
            to: [blank, written]
        """

    private static func set(_ state: String, _ data: String) -> String {
        #"{"op":"set","state":"\#(state)","data":\#(data)}"#
    }

    @Test
    func aStateIsFoundByItsOwnSpellingAlone() async throws {
        try await DeclaredDaemon.run(Self.note, state: nil, clock: ManualStayClock()) { daemon in
            let client = try daemon.connect()
            // One letter, and a letter with a mark: equal as Unicode has it, and other bytes.
            let texts = ["\u{E9}", "e\u{301}", "\u{E9}"]
            for (index, text) in texts.enumerated() {
                let reply = try await client.ask(Self.set("written", #"{"text":"\#(text)"}"#))
                #expect(reply.seq == index + 1)
                let got = try await client.ask("get").item("data")?.string("text")
                #expect(got?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
            }
        }
    }

    @Test
    func whatWasAcceptedMakesNothingElseRight() async throws {
        try await DeclaredDaemon.run(Self.note, state: nil, clock: ManualStayClock()) { daemon in
            let client = try daemon.connect()
            _ = try await client.ask(Self.set("written", #"{"text":"a"}"#))
            _ = try await client.ask(Self.set("blank", "{}"))
            for data in ["5", "[]", #""""#] {
                let reply = try await client.ask(Self.set("blank", data))
                #expect(reply.error == "bad-data")
            }
            #expect(try await client.ask("get").seq == 2)
        }
    }
}
