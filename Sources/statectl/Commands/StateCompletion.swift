import ArgumentParser
import StateMachineClient

/// What a shell offers at a press of the tab key: what the daemon knows, and nothing without one.
enum StateCompletion {
    /// A press of a key does not wait longer than this for a daemon that does not answer.
    private static let patience = Duration.seconds(1)

    /// What `describe` of the daemon that the words are meant for answers; nil without an answer.
    private static func description(for words: [String]) async -> Line? {
        do {
            let directory = try Self.directory(in: words) ?? .discover()
            return try await Client(directory).reply(to: .describe, within: Self.patience)
        } catch {
            // There is nobody to tell: the shell shows candidates and nothing else.
            return nil
        }
    }

    private static func states(for words: [String]) async -> [JSONValue] {
        await self.description(for: words)?["states"]?.elements ?? []
    }

    static func names(_ words: [String]) async -> [String] {
        await self.states(for: words).compactMap { $0["state"]?.string }.filter(self.isHarmless)
    }

    /// The names of what may be sent.
    static func events(_ words: [String]) async -> [String] {
        await self.description(for: words)?["events"]?.members?.map(\.key).filter(self.isHarmless)
            ?? []
    }

    /// Whether a shell takes a word for nothing but a word, whatever it does with it: a daemon may say
    /// anything, and bash carries out what it finds in the words that it is to choose from.
    ///
    /// A word with a hyphen before it would be a flag.
    private static func isHarmless(_ word: String) -> Bool {
        word.utf8.first != UInt8(ascii: "-") && !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."),
                    UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// `key=value` for the fields that take only some values, `key=` for the others.
    ///
    /// bash takes `=` for the end of a word: behind one the values stand alone.
    static func values(_ words: [String], at index: Int) async -> [String] {
        let states = await self.states(for: words)
        guard
            let fields = states.first(where: { words.contains($0["state"]?.string ?? "") })?[
                "fields"
            ]
        else { return [] }
        let before = words.indices.contains(index - 1) ? words[index - 1] : ""
        let name = before == "=" && index >= 2 ? words[index - 2] : nil
        return (fields.members ?? []).filter { name == nil || $0.key == name }.flatMap { field in
            let values = Self.texts(of: field.value)
            let label = name == nil ? "\(field.key)=" : ""
            return values.isEmpty && name == nil ? [label] : values.map { label + $0 }
        }
        .filter(self.isHarmless)
    }

    private static func texts(of field: JSONValue) -> [String] {
        if field["type"]?.string == "boolean" { return ["true", "false"] }
        return (field["values"]?.elements ?? []).map(\.shortText)
    }

    private static func directory(in words: [String]) -> RuntimeDirectory? {
        let flag = "--runtime-directory"
        guard let index = words.firstIndex(where: { $0 == flag || $0.hasPrefix("\(flag)=") }) else {
            return nil
        }
        // One word, or three to bash, or two.
        let rest = ([String(words[index].dropFirst(flag.count))] + words[(index + 1)...])
            .first { !$0.isEmpty && $0 != "=" }
        return rest.map { RuntimeDirectory($0.hasPrefix("=") ? String($0.dropFirst()) : $0) }
    }
}

extension CompletionKind {
    /// The names of states.
    static var states: CompletionKind {
        .custom { words, _, _ in await StateCompletion.names(words) }
    }

    /// The names of events.
    static var events: CompletionKind {
        .custom { words, _, _ in await StateCompletion.events(words) }
    }

    /// What the state that is named before may carry.
    static var values: CompletionKind {
        .custom { words, index, _ in await StateCompletion.values(words, at: index) }
    }
}
