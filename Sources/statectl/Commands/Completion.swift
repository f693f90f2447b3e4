import ArgumentParser
import StateMachineClient

extension CompletionKind {
    /// Words that are known to the daemon that the others refer to.
    static func offering(
        _ candidates: @escaping @Sendable (Completion) async -> [String]
    ) -> CompletionKind {
        .custom { words, index, _ in
            self.escaped(await candidates(Completion(words: words, index: index)))
        }
    }

    /// The names of instances, which no daemon has to be asked for.
    static var instances: CompletionKind {
        .custom { _, _, _ in self.escaped(Completion.harmless(Instance.all().compactMap(\.name))) }
    }

    /// As the shell takes them: in zsh what follows a colon describes the word before it, unless it is escaped.
    private static func escaped(_ words: [String]) -> [String] {
        guard CompletionShell.requesting == .zsh else { return words }
        return words.map { $0.replacing(":", with: "\\:") }
    }
}

/// What a shell offers at a press of the tab key: what the daemon knows, or nothing without one.
struct Completion: Sendable {
    /// The longest that a press of the key waits for a daemon that does not answer.
    private static let timeout = Duration.seconds(1)

    /// The words that are typed, and which of them is to be completed.
    let words: [String]
    let index: Int

    var states: [String] { get async { Self.harmless(await self.description.states.map(\.name)) } }

    /// The names of the events that may be sent.
    var events: [String] { get async { Self.harmless(await self.description.events.map(\.name)) } }

    /// The names of guards that are required, or of holds that belong to no connection.
    func names(of rows: String, under key: String) async -> [String] {
        let rows = await self.answer(to: .stats)?[rows]?.elements ?? []
        return Self.harmless(Set(rows.compactMap { $0[key]?.string }).sorted())
    }

    /// Names of states and groups; after one and a colon its fields and values; also after `!`.
    var patterns: [String] {
        get async {
            let description = await self.description
            let whole = PieceOfWord(self.words, at: self.index)
            let mark = whole.text.hasPrefix("!") ? "!" : ""
            let word = whole.following(mark.utf8.count)
            let parts = word.text.split(
                separator: ":",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard parts.count == 2 else {
                let names = description.states.map(\.name) + description.groups.map(\.key)
                return Self.harmless(names).map { mark + $0 }
            }
            // For a group, the fields of its first state, some of which other states may lack.
            let group = description.groups.first { $0.key == parts[0] }
            let name = group?.value.elements?.first?.string ?? String(parts[0])
            return Self.values(
                of: description.states.first { $0.name == name },
                in: whole.following(mark.utf8.count + parts[0].utf8.count + 1),
                after: parts[1].contains("!=") ? "!=" : "="
            )
        }
    }

    /// The values that the state named before may carry.
    var valuesOfState: [String] { get async { self.values(of: await self.description.states) } }

    /// The values that the event named before may carry.
    var valuesOfEvent: [String] { get async { self.values(of: await self.description.events) } }

    /// The values that the present state may carry.
    var valuesOfPresent: [String] {
        get async {
            let present = await self.answer(to: .get)?.state?.name
            let state = await self.description.states.first { $0.name == present }
            let word = PieceOfWord(self.words, at: self.index)
            return Self.values(of: state, in: word, isUpdate: true)
        }
    }

    // MARK: - Candidates

    /// A state or an event with its fields.
    private typealias Shape = (name: String, fields: JSONValue?)

    private func values(of shapes: [Shape]) -> [String] {
        let shape = shapes.first { self.words.contains($0.name) }
        return Self.values(of: shape, in: PieceOfWord(self.words, at: self.index))
    }

    /// `key=value` for the fields that take only some values, `key=` for the others, and in an
    /// update `key+=` for numbers; `key!=value` after that.
    ///
    /// No order is offered: without quotes a shell would write to a file.
    private static func values(
        of shape: Shape?,
        in word: PieceOfWord,
        after comparator: String = "=",
        isUpdate: Bool = false
    ) -> [String] {
        let candidates = (shape?.fields?.members ?? []).flatMap { field in
            let type = field.value["type"]?.string
            let listed = (field.value["values"]?.elements ?? []).map { $0.string ?? $0.shortText }
            let values = type == "boolean" ? ["true", "false"] : listed
            return (values.isEmpty ? [""] : values).map { "\(field.key)=\($0)" }
                + (isUpdate && ["integer", "number"].contains(type) ? ["\(field.key)+="] : [])
        }
        return self.harmless(candidates)
            .compactMap { word.rest(of: $0.replacing("=", with: comparator, maxReplacements: 1)) }
            .filter { !$0.isEmpty }
    }

    fileprivate static func harmless(_ words: [String]) -> [String] {
        words.filter(self.isHarmless)
    }

    /// Whether a shell takes it for a plain word in any position: a daemon may say anything, and
    /// bash executes what it finds in the words that it is to choose from.
    ///
    /// A word that begins with a hyphen would be a flag.
    private static func isHarmless(_ word: String) -> Bool {
        word.utf8.first != UInt8(ascii: "-") && !word.isEmpty
            && word.utf8.allSatisfy { $0.isLetterOrDigit || "_.:=-+".utf8.contains($0) }
    }

    // MARK: - The daemon

    private var description: (states: [Shape], events: [Shape], groups: [JSONMember]) {
        get async {
            let answer = await self.answer(to: .describe)
            let states = (answer?["states"]?.elements ?? []).compactMap { state in
                state["state"]?.string.map { ($0, state["fields"]) }
            }
            let events = (answer?["events"]?.members ?? []).map { ($0.key, Optional($0.value)) }
            return (states, events, answer?["groups"]?.members ?? [])
        }
    }

    /// The reply of the daemon that the words refer to; nil without a reply.
    private func answer(to request: Request) async -> Line? {
        // There is nobody to tell: the shell shows candidates and nothing else.
        let directory = try? RuntimeDirectory.find(
            path: self.value(of: ["--runtime-directory"]),
            instance: self.value(of: ["--machine", "-m"])
        )
        return try? await directory.map { Client($0) }?.reply(to: request, within: Self.timeout)
    }

    private func value(of flags: [String]) -> String? {
        let words = self.words
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

/// The word that is to be completed, as far as it is typed.
///
/// bash ends words at `=` and `:` and expects only the rest after them; other shells expect the
/// whole word.
struct PieceOfWord {
    /// The whole word up to here, put together again.
    private(set) var text: String
    /// How many bytes of a completed word precede what the shell expects.
    private var before: Int

    init(_ words: [String], at index: Int) {
        guard words.indices.contains(index) else {
            self.text = ""
            self.before = 0
            return
        }
        var start = index
        // A break joins what is on both sides of it.
        while start > 0, Self.isBreak(words[start]) || Self.isBreak(words[start - 1]) { start -= 1 }
        self.text = words[start...index].joined()
        // A break at the end is a word of its own: what follows it begins after it.
        let own = Self.isBreak(words[index]) ? "" : words[index]
        self.before = start == index ? 0 : self.text.utf8.count - own.utf8.count
    }

    private static func isBreak(_ word: String) -> Bool { word == "=" || word == ":" }

    /// The part from that byte on.
    func following(_ count: Int) -> PieceOfWord {
        var piece = self
        piece.text = String(Substring(self.text.utf8.dropFirst(count)))
        piece.before = self.before - count
        piece.head = self.before >= count ? "" : String(Substring(self.text.utf8.prefix(count)))
        return piece
    }

    /// What precedes the part, if the shell wants it repeated.
    private var head = ""

    /// What a shell is offered of a candidate; nil if the candidate does not begin as typed.
    func rest(of candidate: String) -> String? {
        guard self.before > 0 else { return self.head + candidate }
        let typed = self.text.utf8.prefix(self.before)
        guard candidate.utf8.starts(with: typed) else { return nil }
        return String(Substring(candidate.utf8.dropFirst(self.before)))
    }
}
