import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

/// States of two declarations side by side.
@Suite struct RedeclaringTests {
    private static let old = """
        start: idle
        states:
          idle: {}
          playing: {fields: {volume: {type: integer, default: 40}, title: string, old: {type: string, default: x}}}
          gone: {}
        """
    private static let new = """
        start: idle
        states:
          broken: {}
          idle: {to: [broken]}
          playing: {fields: {title: {type: string, max: 3}, volume: {type: integer, default: 50}}}
        """

    private let older: Schema
    private let newer: Schema

    init() throws {
        self.older = try declaration(Self.old).schema
        self.newer = try declaration(Self.new).schema
    }

    private func restated(_ name: String, _ data: String) throws -> String {
        let state = try self.older.value(name, data: JSONValue(parsing: data))
        do {
            let present = Place(seq: 0, value: self.newer.initial, at: .now, stay: 0)
            let rules = try #require(self.older.rules)
            let restated = try rules.restated(state, at: present)
            #expect(self.older.schema(of: restated) === self.newer)
            return TypedValue<DeclaredState>.state(of: restated).written
        } catch let error as WireError {
            return "\(error.code.rawValue): \(error.message)"
        }
    }

    @Test(arguments: [
        ("idle", "{}", "idle"),
        ("playing", #"{"title":"a"}"#, "playing title=a volume=50"),
        ("playing", #"{"title":"a","volume":3}"#, "playing title=a volume=3"),
        ("playing", #"{"title":"abcd"}"#, #"bad-data: title=abcd: must have at most 3 bytes"#),
        (
            "playing", #"{"title":"a","old":"y"}"#,
            #"bad-data: "playing" has no field "old"; known: title, volume"#
        ),
        ("gone", "{}", #"unknown-state: there is no state "gone"; known: broken, idle, playing"#),
    ])
    func whatWasAskedForIsEvaluatedByTheNewOne(name: String, data: String, answer: String) throws {
        #expect(try self.restated(name, data) == answer)
    }

    @Test func statesOfDifferentDeclarationsAreNeverEqualNorFollowEachOther() throws {
        let again = try declaration(Self.old).schema
        #expect(!self.older.initial.equals(again.initial))
        #expect(
            self.older.codec.data(of: self.older.initial)
                == again.codec.data(of: again.initial)
        )
        // What may follow in one declaration has the number of another state in the other.
        #expect(!self.newer.initial.mayBecome(self.older.initial))
        #expect(!self.older.initial.mayBecome(self.newer.initial))
        #expect(self.older.declaration?.hash == again.declaration?.hash)
        #expect(self.older.declaration?.hash != self.newer.declaration?.hash)
    }
}
