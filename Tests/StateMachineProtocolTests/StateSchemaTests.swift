import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A state type tells") struct SchemaTests {
    @Test(
        "what each case carries",
        arguments: [
            ("idle", []),
            ("queued", ["value: integer"]),
            ("paired", ["value: integer", "value2: string"]),
            ("maybe", ["value: boolean? of false, true"]),
            (
                "running",
                ["id: integer", "ratio: number", "tags: array", "owner: object", "note: string?"]
            ),
            ("stopped", [#"reason: string of "asked", "idle""#, "level: integer of 1, 10"]),
            ("failed", ["before: integer", "kind: string", "retries: integer?"]),
            ("coded", ["value: integer"]),
            ("ended", ["value: string?", "after: integer"]),
        ]
    )
    func tellsItsFields(_ name: String, _ fields: [String]) throws {
        let found = try StateCoding<Job>().schema.state(name)
        #expect(found.fields.map(\.text) == fields)
    }

    @Test("what may follow each case, as the examples of it show together") func tellsSuccessors() {
        let lamp = StateCoding<Lamp>().schema
        #expect(lamp.states.map(\.successors) == [["on"], ["off", "broken"], []])
        let app = StateCoding<AppState>().schema
        #expect(app.states.allSatisfy { $0.successors == app.names })
    }

    @Test(
        "that a pattern has a value that the field's type does not take, though it lists none",
        arguments: [
            ("queued:value=99999999999999999999", "value of queued must be of type integer"),
            (
                "queued:value=9223372036854775808",
                "value of queued must be of type integer, "
                    + "-9223372036854775808 to 9223372036854775807"
            ),
            ("failed:kind=tape", "kind of failed was refused: "),
            ("ended:value=tape", "value of ended was refused: "),
            ("coded:value=201", "value of coded was refused: "),
            ("running:ratio=1e309", "ratio of running must be of type number, within"),
        ]
    )
    func refusesAValueOfNoState(_ text: String, _ message: String) {
        let error = #expect(throws: WireError.self) {
            _ = try StateCoding<Job>().schema.resolved(Pattern(text: text))
        }
        #expect(error?.code == .badData)
        #expect(error?.message.hasPrefix(message) == true)
    }

    @Test(
        "nothing of a pattern that may match",
        arguments: [
            "queued:value=9223372036854775807", "failed:kind=disk", "ended:value:=null",
            "ended:value=disk,after=0", "coded:value=410", "running:ratio=1", "failed:retries=1",
        ]
    )
    func admitsAValueOfSomeState(_ text: String) throws {
        _ = try StateCoding<Job>().schema.resolved(Pattern(text: text))
    }
}

extension Field {
    fileprivate var text: String {
        "\(self.name): \(self.type.rawValue)" + (self.isOptional ? "?" : "")
            + (self.values.isEmpty ? "" : " of \(self.values.listed)")
    }
}
