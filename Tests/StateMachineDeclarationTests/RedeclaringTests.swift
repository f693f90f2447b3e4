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

    private let older: DeclaredForm
    private let newer: DeclaredForm

    init() throws {
        self.older = DeclaredForm(try declaration(Self.old))
        self.newer = DeclaredForm(try declaration(Self.new))
    }

    private func restated(_ name: String, _ data: String) throws -> String {
        let state = try self.older.state(name, data: JSONValue(parsing: data))
        let behaviour = try #require(self.older.behaviour)
        do {
            guard let restated = try behaviour.restated(state, in: self.newer.initial) else {
                return "as it was"
            }
            #expect(behaviour.declaration(of: restated) === self.newer.declaration)
            return restated.written
        } catch {
            return "\(error.code.rawValue): \(error.message)"
        }
    }

    @Test(arguments: [
        ("idle", "{}", "idle"),
        ("playing", #"{"title":"a"}"#, "playing title=a volume=50"),
        ("playing", #"{"title":"a","volume":3}"#, "playing title=a volume=3"),
        ("playing", #"{"title":"abcd"}"#, #"bad-data: title=abcd: at most 3 bytes"#),
        (
            "playing", #"{"title":"a","old":"y"}"#,
            #"bad-data: "playing" has no field "old"; known: title, volume"#
        ),
        ("gone", "{}", #"unknown-state: there is no state "gone"; known: broken, idle, playing"#),
    ])
    func whatWasAskedForIsEvaluatedByTheNewOne(name: String, data: String, answer: String) throws {
        #expect(try self.restated(name, data) == answer)
    }

    @Test
    func statesOfDifferentDeclarationsAreNeverEqualNorFollowEachOther() throws {
        let again = DeclaredForm(try declaration(Self.old))
        #expect(self.older.initial != again.initial)
        #expect(self.older.initial.data == again.initial.data)
        // What may follow in one declaration has the number of another state in the other.
        #expect(!self.newer.initial.mayBecome(self.older.initial))
        #expect(!self.older.initial.mayBecome(self.newer.initial))
        #expect(self.older.declaration?.hash == again.declaration?.hash)
        #expect(self.older.declaration?.hash != self.newer.declaration?.hash)
    }
}
