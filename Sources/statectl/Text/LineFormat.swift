import ArgumentParser
import StateMachineClient
import StateMachineCore

/// The user's own format for a line: text with names in braces.
struct LineFormat: Sendable, Equatable {
    private enum Part: Equatable {
        case text(String)
        /// A name as the path to its value, its parts between dots; and whether it is shown as JSON.
        case name([String], isJSON: Bool)
    }

    private let parts: [Part]

    /// - Throws: `ValidationError` that says where a brace is missing.
    init(_ text: String) throws {
        var (parts, literal) = ([Part](), "")
        var rest = text[...]
        while let character = rest.popFirst() {
            switch (character, rest.first) {
            case ("{", "{"), ("}", "}"), ("\\", "\\"):
                literal.append(character)
                rest.removeFirst()
            case ("\\", "n"), ("\\", "t"): literal.append(rest.removeFirst() == "n" ? "\n" : "\t")
            case ("{", _):
                guard let end = rest.firstIndex(of: "}"), rest.startIndex < end else {
                    throw ValidationError(
                        "--format: a { needs a name and a }, as in {state}; write {{ for a brace"
                    )
                }
                if !literal.isEmpty { parts.append(.text(literal)) }
                let words = rest[..<end].split(separator: ":", maxSplits: 1)
                let path = (words.first ?? "").split(separator: ".").map(String.init)
                try demand(!path.isEmpty, "--format: there is no name in {\(rest[..<end])}")
                guard words.count == 1 || words[1] == "json" else {
                    throw ValidationError(
                        "--format: only :json may follow a name, not :\(words[1]); write {\(words[0]):json}"
                    )
                }
                parts.append(.name(path, isJSON: words.count > 1))
                (literal, rest) = ("", rest[rest.index(after: end)...])
            case ("}", _):
                throw ValidationError("--format: there is a } without a {; write }} for a brace")
            default: literal.append(character)
            }
        }
        self.parts = literal.isEmpty ? parts : parts + [.text(literal)]
    }

    /// The names of a line's own values, besides the fields of its state.
    private static let known = [
        "state", "seq", "at", "age", "cause", "by", "from", "cursor", "event", "instance", "data",
        "type", "stay", "due", "missed", "resync", "skipped", "changed", "declaration", "version",
        "forced", "ageMs", "stayMs", "forMs", "until", "stayCursor", "overdue", "suspended",
        "trouble",
    ]
    /// The names inside `by`.
    private static let actor = ["host", "uid", "pid", "comm", "unit"]

    /// The names that have to be those of a field of the state.
    var fields: [String] { self.paths.map { $0[0] }.filter { !Self.known.contains($0) } }

    /// The names, as paths.
    private var paths: [[String]] {
        self.parts.compactMap { if case .name(let path, _) = $0 { path } else { nil } }
    }

    /// What is wrong with the first name that is unknown if states have these fields; nil if
    /// nothing is.
    func objection(toNamesBeside fields: [String]) -> String? {
        for path in self.paths {
            let name = path[0]
            if !Self.known.contains(name), !fields.contains(name) {
                return "--format: there is no field {\(name)}"
                    + NearestName.remark(on: name, among: Self.known + fields)
            }
            if name == "by", path.count > 1, !Self.actor.contains(path[1]) {
                return "--format: there is no field {\(path.joined(separator: "."))}"
                    + NearestName.remark(on: path[1], among: Self.actor)
            }
        }
        return nil
    }

    /// Reports a name that neither a line nor a state has, if the daemon can be asked.
    func check(_ client: Client) async throws {
        var fields: [String] = []
        if !self.fields.isEmpty {
            guard let reply = try? await client.reply(to: .describe), reply.isOK == true else {
                return
            }
            for state in reply["states"]?.elements ?? [] {
                fields += (state["fields"]?.members ?? []).map(\.key).filter {
                    !fields.contains($0)
                }
            }
        }
        if let objection = self.objection(toNamesBeside: fields) {
            throw ValidationError(objection)
        }
    }

    /// The line in this format; a name without a value becomes nothing.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - event: what it reports.
    ///   - instance: the machine that it is about, if there are several.
    ///   - text: how times and users are shown.
    /// - Returns: the text, which may have newlines in it.
    func text(_ line: Line, event: String, instance: String? = nil, _ text: LineText) -> String {
        self.parts.map { part in
            switch part {
            case .text(let text): return text
            case .name(["event"], let isJSON): return isJSON ? event.quoted : event
            case .name(["instance"], isJSON: true): return instance?.quoted ?? "null"
            case .name(["instance"], _): return instance?.printable ?? ""
            case .name(["age"], let isJSON):
                let age = line.at.map { LineText.age(of: $0, at: text.now) } ?? ""
                return isJSON ? age.quoted : age
            case .name(["stayCursor"], isJSON: true):
                return line.beginning?.description.quoted ?? "null"
            case .name(let path, isJSON: true):
                return (Self.member(path, of: line) ?? .null).printableJSON
            case .name(let path, isJSON: false): return Self.value(path, line, text).printable
            }
        }
        .joined()
    }

    /// A value of the line as people are shown it.
    private static func value(_ path: [String], _ line: Line, _ text: LineText) -> String {
        switch path {
        case ["at"]: line.at.flatMap { text.clock($0) } ?? ""
        case ["by"]: line[.by].map { text.peer($0) } ?? ""
        case ["from"]: line.from?.text ?? ""
        case ["stayCursor"]: line.beginning?.description ?? ""
        default: self.member(path, of: line).map { $0.string ?? $0.description } ?? ""
        }
    }

    /// The line's own values take precedence over the fields of the state.
    private static func member(_ path: [String], of line: Line) -> JSONValue? {
        self.member(path, of: line.value) ?? self.member(path, of: line["data"])
    }

    private static func member(_ path: [String], of value: JSONValue?) -> JSONValue? {
        path.reduce(value) { $0?[$1] }
    }
}

extension JSONValue {
    /// The value as JSON, in which what nobody sees or what a terminal would obey is escaped.
    fileprivate var printableJSON: String {
        let text = self.description
        guard text.unicodeScalars.contains(where: \.isUnprintable) else { return text }
        return text.unicodeScalars.map { scalar in
            guard scalar.isUnprintable else { return String(scalar) }
            return String(scalar).utf16.map { "\\u" + $0.digits(4, radix: 16) }.joined()
        }
        .joined()
    }
}
