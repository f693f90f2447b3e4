/// Why a field cannot have a value.
///
/// It is said in two ways: after the field's name (``requirement``), and after the field and the value
/// (``sentence``), as in `level=11: must be at most 10`.
package struct Misfit: Error, Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// It is of another type.
        case type
        /// The same, of a word or a text.
        case text
        /// It is not JSON.
        case json
        /// It would be JSON, but has a key twice in one object.
        case doubled(String)
        /// It has more combining marks in a row than may be.
        case marks
        /// It is none of those that are listed.
        case values
        case least(JSONDecimal)
        case most(JSONDecimal)
        /// Its exponent is too long to be compared.
        case exponent
        /// No double holds it.
        case size
    }

    let kind: Kind
    let value: JSONValue
    let field: Field

    init(_ kind: Kind, of value: JSONValue, in field: Field) {
        self.kind = kind
        self.value = value
        self.field = field
    }

    /// That a text, which would be JSON, has a key twice in one object; nil if it has not.
    init?(doubledIn text: String, in field: Field) {
        guard let key = JSONValue.doubledKey(in: text) else { return nil }
        self.init(.doubled(key), of: .string(text), in: field)
    }

    /// What is to be the case, to go after the field's name.
    package var requirement: String {
        switch self.kind {
        case .marks: "has more than \(RequestLimits.marks) combining marks in a row"
        case .type where self.field.values.isEmpty:
            "must be of type \(self.field.type.rawValue), not \(self.value.kind)"
        case .type, .values:
            "must be one of \(self.field.values.listed)"
                + self.nearest(to: self.value.string, among: self.field.values.compactMap(\.string))
        case .text, .json, .doubled, .least, .most, .exponent, .size: self.sentence
        }
    }

    /// What to do about it, or what has to be the case.
    package var sentence: String {
        let field = self.field
        return switch self.kind {
        case .type where self.isQuoted: "it is given as text; write it without quotes"
        // Most likely a word that is no JSON, and so has stayed a text.
        case .type where self.value.string != nil: "write \(field.example)"
        case .type:
            switch field.type {
            case .boolean, .integer, .time, .instant: "write \(field.example)"
            case .array: "write a list"
            case .number, .string, .object: "write \(field.typeName)"
            }
        case .text: "write \(field.example)"
        case .json: "write JSON after :="
        case .doubled(let key): "the key \(key.quoted) is there twice in one object"
        case .marks: "must have at most \(RequestLimits.marks) combining marks in a row"
        case .values:
            "must be one of \(field.values.map(\.plainText).joined(separator: ", "))"
                + self.nearest(to: self.value.plainText, among: field.values.map(\.plainText))
        case .least(let least): "must \(field.verb) at least \(field.written(least))"
        case .most(let most): "must \(field.verb) at most \(field.written(most))"
        case .exponent: "is out of range: its exponent has too many digits"
        case .size: "a number must be below 1.8e308 in size"
        }
    }

    /// The refusal of the value, or of the word that it was made of; `name` is what the field is called, if not by its
    /// present name.
    package func refusal(of word: String? = nil, as name: String? = nil) -> WireError {
        let written = word ?? self.written
        return WireError(
            .badData,
            "\(name ?? self.field.name)=\(written.excerpt()): \(self.sentence)",
            values: self.field.values
        )
    }

    /// The value as it is shown: one that is past a bound as the bound is.
    private var written: String {
        switch self.kind {
        case .least, .most: self.field.bare(self.value.plainText)
        case .type, .text, .json, .doubled, .marks, .values, .exponent, .size: self.value.plainText
        }
    }

    package var refusal: WireError { self.refusal() }

    /// Whether the text would do, were it none: as a word it would have been taken.
    private var isQuoted: Bool {
        guard self.field.type != .time, let text = self.value.string else { return false }
        return (try? self.field.value(ofText: text)) != nil
    }

    private func nearest(to text: String?, among known: [String]) -> String {
        text.flatMap { NearestName.of($0, among: known) }.map { "; did you mean \($0)?" } ?? ""
    }
}

// What a field takes, for people.
extension Field {
    /// What its type is called, with an article.
    package var typeName: String {
        switch self.type {
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        case .time: "a time"
        case .instant: "an instant"
        }
    }

    /// What it takes, with an article: `an integer from 1 to 8`, `one of fast, slow`.
    package var takes: String {
        guard self.values.isEmpty else {
            return "one of \(self.values.map(\.plainText).joined(separator: ", "))"
        }
        return switch (self.bounds.least, self.bounds.most) {
        case (nil, nil): self.typeName
        case (let least?, nil): "\(self.typeName) of at least \(self.written(least))"
        case (nil, let most?): "\(self.typeName) of at most \(self.written(most))"
        case (let least?, let most?):
            "\(self.typeName) from \(self.bare("\(least)")) to \(self.written(most))"
        }
    }

    fileprivate var example: String {
        switch self.type {
        case .boolean: "true or false"
        case .integer: "a whole number"
        case .number: "a number, like 1.5"
        case .array: "a list, like [\"a\"]"
        case .object: "an object, like {\"a\": \"b\"}"
        case .string: self.typeName
        case .time: "a time, like 90s or 1h30min; as JSON a whole number of milliseconds"
        case .instant: "a moment with its offset, like 2026-11-20T22:00:00Z"
        }
    }

    /// What a value with a bound does: a text has so many bytes.
    fileprivate var verb: String { self.type == .string ? "have" : "be" }

    /// A bound, with what it counts.
    fileprivate func written(_ bound: JSONDecimal) -> String {
        self.bare("\(bound)") + (self.type == .string ? " bytes" : "")
    }

    /// A number as people write it: the milliseconds of a time with their units.
    fileprivate func bare(_ number: String) -> String {
        guard self.type == .time, let milliseconds = Int64(number) else { return number }
        return Duration.milliseconds(milliseconds).timeText
    }
}
