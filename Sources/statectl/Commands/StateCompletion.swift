import ArgumentParser
import StateMachineClient

/// What a shell offers at a press of the tab key: what the daemon knows, or nothing without one.
enum StateCompletion {
    /// The longest that a press of the key waits for a daemon that does not answer.
    private static let timeout = Duration.seconds(1)

    static func names(_ words: [String], _: Int) async -> [String] {
        await self.states(for: words).compactMap { $0["state"]?.string }.filter(self.isHarmless)
    }

    /// The names of the events that may be sent.
    static func events(_ words: [String], _: Int) async -> [String] {
        (await self.answer(to: .describe, for: words)?["events"]?.members ?? []).map(\.key)
            .filter(self.isHarmless)
    }

    /// The names of guards that are required, or of holds that belong to no connection.
    static func names(of rows: String, under key: String, _ words: [String]) async -> [String] {
        let rows = await self.answer(to: .stats, for: words)?[rows]?.elements ?? []
        return Set(rows.compactMap { $0[key]?.string }).sorted().filter(self.isHarmless)
    }

    static func instances() -> [String] {
        Instance.all().compactMap(\.name).filter(self.isHarmless)
    }

    /// Names of states and groups; after one and a colon its fields and values; also after `!`.
    static func patterns(_ words: [String], _ index: Int) async -> [String] {
        let description = await self.answer(to: .describe, for: words)
        let states = description?["states"]?.elements ?? []
        let groups = description?["groups"]?.members ?? []
        let whole = PieceOfWord(words, at: index)
        let mark = whole.text.hasPrefix("!") ? "!" : ""
        let word = whole.following(mark.utf8.count)
        let parts = word.text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            let names = states.compactMap { $0["state"]?.string } + groups.map(\.key)
            return names.filter(self.isHarmless).map { mark + $0 }
        }
        // For a group, the fields of its first state, some of which other states may lack.
        let group = groups.first { $0.key == parts[0] }
        let name = group?.value.elements?.first?.string ?? String(parts[0])
        let fields = states.first { $0["state"]?.string == name }?["fields"]
        return self.values(
            of: fields,
            in: whole.following(mark.utf8.count + parts[0].utf8.count + 1)
        )
    }

    /// The values that the state named before may carry.
    static func valuesOfState(_ words: [String], _ index: Int) async -> [String] {
        let states = await self.states(for: words)
        let state = states.first { words.contains($0["state"]?.string ?? "") }
        return self.values(of: state?["fields"], in: PieceOfWord(words, at: index))
    }

    /// The values that the event named before may carry.
    static func valuesOfEvent(_ words: [String], _ index: Int) async -> [String] {
        let events = await self.answer(to: .describe, for: words)?["events"]?.members ?? []
        let event = events.first { words.contains($0.key) }
        return self.values(of: event?.value, in: PieceOfWord(words, at: index))
    }

    /// The values that the present state may carry.
    static func valuesOfPresent(_ words: [String], _ index: Int) async -> [String] {
        let present = await self.answer(to: .get, for: words)?.state?.name
        let state = await self.states(for: words).first { $0["state"]?.string == present }
        return self.values(
            of: state?["fields"],
            in: PieceOfWord(words, at: index),
            isUpdate: true
        )
    }

    // MARK: - Candidates

    /// `key=value` for the fields that take only some values, `key=` for the others, and in an
    /// update `key+=` for numbers.
    private static func values(
        of fields: JSONValue?,
        in word: PieceOfWord,
        isUpdate: Bool = false
    ) -> [String] {
        (fields?.members ?? []).flatMap { field in
            let values = self.texts(of: field.value)
            let label = "\(field.key)="
            let isNumber = ["integer", "number"].contains(field.value["type"]?.string)
            return (values.isEmpty ? [label] : values.map { label + $0 })
                + (isUpdate && isNumber ? ["\(field.key)+="] : [])
        }
        .filter(self.isHarmless)
        .compactMap { word.rest(of: $0) }
        .filter { !$0.isEmpty }
    }

    private static func texts(of field: JSONValue) -> [String] {
        if field["type"]?.string == "boolean" { return ["true", "false"] }
        return (field["values"]?.elements ?? []).map { $0.string ?? $0.shortText }
    }

    /// Whether a shell takes it for a plain word in any position: a daemon may say anything, and
    /// bash executes what it finds in the words that it is to choose from.
    ///
    /// A word that begins with a hyphen would be a flag.
    private static func isHarmless(_ word: String) -> Bool {
        word.utf8.first != UInt8(ascii: "-") && !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."),
                    UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: "-"),
                    UInt8(ascii: "+"):
                    true
                default: false
                }
            }
    }

    /// As the shell takes them: in zsh what follows a colon describes the word before it, unless it is escaped.
    static func escaped(_ words: [String]) -> [String] {
        guard CompletionShell.requesting == .zsh else { return words }
        return words.map { $0.replacing(":", with: "\\:") }
    }

    // MARK: - The daemon

    private static func states(for words: [String]) async -> [JSONValue] {
        await self.answer(to: .describe, for: words)?["states"]?.elements ?? []
    }

    /// The reply of the daemon that the words refer to; nil without a reply.
    private static func answer(to request: Request, for words: [String]) async -> Line? {
        do {
            let directory = try Self.directory(in: words)
            return try await Client(directory).reply(to: request, within: Self.timeout)
        } catch {
            // There is nobody to tell: the shell shows candidates and nothing else.
            return nil
        }
    }

    private static func directory(in words: [String]) throws -> RuntimeDirectory {
        if let path = self.value(of: ["--runtime-directory"], in: words) {
            return RuntimeDirectory(path)
        }
        if let name = self.value(of: ["--machine", "-m"], in: words) {
            return try Instance.directory(of: name)
        }
        return try .discover()
    }

    private static func value(of flags: [String], in words: [String]) -> String? {
        for flag in flags {
            guard let index = words.firstIndex(where: { $0 == flag || $0.hasPrefix("\(flag)=") })
            else { continue }
            // The value is in the same word, in the next one, or, in bash, in the one after a `=`.
            let rest = ([String(words[index].dropFirst(flag.count))] + words[(index + 1)...])
                .first { !$0.isEmpty && $0 != "=" }
            return rest.map { $0.hasPrefix("=") ? String($0.dropFirst()) : $0 }
        }
        return nil
    }
}

extension CompletionKind {
    /// Words that a daemon knows.
    private static func ofDaemon(
        _ candidates: @escaping @Sendable (_ words: [String], _ index: Int) async -> [String]
    ) -> CompletionKind {
        .custom { words, index, _ in StateCompletion.escaped(await candidates(words, index)) }
    }

    /// The names of states.
    static var states: CompletionKind { .ofDaemon(StateCompletion.names) }

    /// The names of states and groups, with fields and their values.
    static var patterns: CompletionKind { .ofDaemon(StateCompletion.patterns) }

    /// The names of events.
    static var events: CompletionKind { .ofDaemon(StateCompletion.events) }

    /// The names of guards that are required.
    static var requirements: CompletionKind {
        .ofDaemon { words, _ in
            await StateCompletion.names(of: "guards", under: "required", words)
        }
    }

    /// The names of holds that belong to no connection.
    static var heldNames: CompletionKind {
        .ofDaemon { words, _ in await StateCompletion.names(of: "holds", under: "as", words) }
    }

    /// The names of instances.
    static var instances: CompletionKind {
        .custom { _, _, _ in StateCompletion.escaped(StateCompletion.instances()) }
    }

    /// The values that the state named before may carry.
    static var valuesOfState: CompletionKind { .ofDaemon(StateCompletion.valuesOfState) }

    /// The values that the event named before may carry.
    static var valuesOfEvent: CompletionKind { .ofDaemon(StateCompletion.valuesOfEvent) }

    /// The values that the present state may carry.
    static var valuesOfPresent: CompletionKind { .ofDaemon(StateCompletion.valuesOfPresent) }
}
