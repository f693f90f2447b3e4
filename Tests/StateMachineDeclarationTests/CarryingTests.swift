import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

@Suite struct CarryingTests {
    private static let newer = """
        start: idle
        states:
          idle: {was: [ready, waiting], to: [playing]}
          playing:
            fields:
              volume: {type: integer, min: 0, max: 100, was: [loudness, level], default: 40}
              title: string
              note: {type: string, optional: true}
            to: [idle]
          broken: {fields: {reason: string}, to: [idle]}
        """

    private func carried(_ name: String, _ data: String) throws -> String {
        let machine = try declaration(Self.newer)
        let members = try #require(JSONValue(parsing: data)?.members)
        do {
            let value = try machine.schema.carried(name, data: members)
            return TypedValue<DeclaredState>.state(of: value).written
        } catch {
            return error.sentence
        }
    }

    @Test(arguments: [
        ("idle", "{}", "idle"),
        ("ready", #"{"x":1}"#, "idle"),
        ("waiting", "{}", "idle"),
        ("playing", #"{"title":"a","volume":3}"#, "playing volume=3 title=a"),
        ("playing", #"{"title":"a","loudness":3}"#, "playing volume=3 title=a"),
        ("playing", #"{"title":"a","level":4}"#, "playing volume=4 title=a"),
        (
            "playing", #"{"title":"a","level":4,"volume":5,"note":"b"}"#,
            "playing volume=5 title=a note=b"
        ),
        ("playing", #"{"title":"a"}"#, "playing volume=40 title=a"),
    ])
    func statesAndFieldsAreFoundByNameThenByOldNames(
        name: String,
        data: String,
        state: String
    ) throws {
        #expect(try self.carried(name, data) == state)
    }

    @Test(arguments: [
        (
            "gone", "{}",
            "the state \"gone\" no longer exists; write \"was: gone\" in the state that replaces it"
        ),
        (
            "playing", #"{"title":"a","loudness":101}"#,
            "the present state does not fit \"playing\": loudness=101: must be at most 100"
        ),
        (
            "playing", #"{"title":1}"#,
            "the present state does not fit \"playing\": title=1: write a string"
        ),
        (
            "broken", "{}",
            "the state \"broken\" needs the field \"reason\", which the present state does not have; give the field "
                + "a \"default\", or write its old name in \"was\" if it was renamed"
        ),
    ])
    func whatDoesNotFitIsRefusedWithoutADefault(name: String, data: String, sentence: String) throws
    {
        #expect(try self.carried(name, data) == sentence)
    }
}
