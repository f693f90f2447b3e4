import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// The table finds a pattern for exactly the states that match it.
struct PatternTableTests {
    private static let states: [AppState] =
        [.ready(true), .ready(false)]
        + [.idle, .active, .success, .failure].flatMap { phase in
            [.authentication(phase), .dataRetrieval(phase)]
        }

    private static let texts =
        ["ready", "ready:value=true", "ready:value=false", "authentication", "dataRetrieval"]
        + ["idle", "active", "success", "failure"].flatMap { phase in
            ["authentication:phase=\(phase)", "dataRetrieval:phase=\(phase)"]
        }

    @Test
    func aStateFindsThePatternsThatSelectIt() throws {
        var table = PatternTable<Set<String>>()
        let patterns = try Self.texts.map { try Pattern(text: $0) }
        for pattern in patterns {
            let hasPlace = table.update(pattern) { items in
                items = (items ?? []).union([pattern.written.string ?? ""])
            }
            #expect(hasPlace)
        }
        for state in Self.states {
            let encoded = state.encoded
            let found = table.items(for: encoded).reduce(into: Set()) { $0.formUnion($1) }
            let matching = patterns.filter(encoded.matches).compactMap(\.written.string)
            #expect(found == Set(matching))
            #expect(found.count == 2)
        }
        for pattern in patterns { table.update(pattern) { $0 = nil } }
        for state in Self.states {
            #expect(table.items(for: state.encoded).isEmpty)
        }
    }

    @Test
    func anotherSpellingIsTheSamePlace() throws {
        var table = PatternTable<Int>()
        let object = JSONValue.object([
            JSONMember("state", .string("ready")),
            JSONMember("data", .object([JSONMember("value", .bool(true))])),
        ])
        table.update(try Pattern(text: "ready:value=true")) { $0 = 1 }
        table.update(try Pattern(object)) { $0 = ($0 ?? 0) + 1 }
        #expect(table.items(for: AppState.ready(true).encoded) == [2])
    }

    private enum Note: EnumState {
        case text(String)

        enum Name: String, CaseIterable { case text }

        static var initial: Note { .text("") }
    }

    /// Unicode considers the texts equal, patterns do not; a wait that is found has ended.
    @Test
    func whatOnlyLooksTheSameIsNotFound() throws {
        var table = PatternTable<Int>()
        table.update(try Pattern(text: "text:value=\u{E9}")) { $0 = 1 }
        #expect(table.items(for: Note.text("\u{E9}").encoded) == [1])
        #expect(table.items(for: Note.text("e\u{301}").encoded).isEmpty)
    }

    @Test
    func aPatternOfAPartHasNoPlace() throws {
        var table = PatternTable<Int>()
        let pattern = try Pattern(text: "ready:value=[1]")
        #expect(!table.update(pattern) { $0 = 1 })
    }
}
