import StateMachineProtocol

/// Reads the fields of states and events.
struct FieldReader {
    /// The most fields of a state or an event.
    static let most = 32

    /// Other languages' names for the types.
    private static let foreignNames: [String: JSONFieldType] = [
        "int": .integer, "text": .string, "str": .string, "bool": .boolean, "float": .number,
        "double": .number, "list": .array, "map": .object,
    ]

    let draft: DraftReader
    let table: KeyTable
    /// The places of real booleans, as opposed to text that looks like one.
    let booleans: BooleanPlaces

    private var problems: Problems { self.draft.problems }

    func fields(_ node: YAMLNode?, of key: String) -> [DeclaredField] {
        self.draft.named(node, key, most: Self.most, "fields")
            .compactMap { self.field($0.value, $0.name) }
    }

    private func field(_ node: YAMLNode, _ name: Located<String>) -> DeclaredField? {
        if let text = node.text, !node.isEmpty {
            guard let type = self.type(text, node.position, of: name) else { return nil }
            return DeclaredField(
                name: name.value,
                type: type,
                values: [],
                bounds: .none,
                fallback: nil,
                isOptional: false,
                oldNames: []
            )
        }
        guard let section = Section(node, self.table, at: name.position, self.problems) else {
            self.problems.doubt(field: name.value)
            return nil
        }
        let type: JSONFieldType
        if let written = section["type"] {
            guard let text = written.text(of: "type", self.problems) else {
                self.problems.doubt(field: name.value)
                return nil
            }
            guard let known = self.type(text.value, text.position, of: name) else { return nil }
            type = known
        } else {
            guard section["values"] != nil else {
                self.problems.error(
                    name.position,
                    "\(name.value.quoted) needs a type, or values; write \(name.value): string"
                )
                self.problems.doubt(field: name.value)
                return nil
            }
            type = .string
        }
        return self.field(section, name, type)
    }

    private func field(
        _ section: Section,
        _ name: Located<String>,
        _ type: JSONFieldType
    ) -> DeclaredField {
        var isOptional = false
        if let node = section["optional"] {
            self.booleans.note(node)
            isOptional = node.boolean(of: "optional", self.problems) ?? false
        }
        let values = section["values"].map { self.values($0, type) } ?? []
        var field = DeclaredField(
            name: name.value,
            type: type,
            values: values,
            bounds: self.bounds(section, type, hasValues: !values.isEmpty),
            fallback: nil,
            isOptional: isOptional,
            oldNames: self.table.has("was") ? self.oldNames(section) : []
        )
        if let node = section["default"] {
            if type == .boolean { self.booleans.note(node) }
            // A default that does not fit is reported once; for targets the field still has a
            // default.
            field.fallback = field.value(of: node, self.problems) ?? .null
            if isOptional {
                self.problems.error(
                    node.position,
                    "\(name.value.quoted) has a default and is always there; drop optional, or the default"
                )
            }
        }
        return field
    }

    private func oldNames(_ section: Section) -> [String] {
        (section["was"].map { self.draft.names($0, of: "was", orOne: true) } ?? []).map(\.value)
    }

    /// The type of that name, or the one meant; if nil, no more is reported about the field.
    private func type(
        _ text: String,
        _ position: FilePosition,
        of name: Located<String>
    ) -> JSONFieldType? {
        if let type = JSONFieldType(rawValue: text) { return type }
        if let type = Self.foreignNames[text] {
            self.problems.error(
                position,
                "there is no type \(text.quoted); did you mean \(type.rawValue)?"
            )
            return type
        }
        // `type?`, as a schema shows it and many languages write it.
        let optional = text.last == "?" ? JSONFieldType(rawValue: String(text.dropLast())) : nil
        self.problems.error(
            position,
            "there is no type \(text.quoted)"
                + (optional.map { "; write {type: \($0.rawValue), optional: true}" }
                    ?? self.problems.suggestion(
                        for: text,
                        among: ["boolean", "integer", "number", "string", "array", "object"]
                    ))
        )
        self.problems.doubt(field: name.value)
        return nil
    }

    private func values(_ node: YAMLNode, _ type: JSONFieldType) -> [JSONValue] {
        guard type == .string || type == .integer else {
            self.problems.error(
                node.position,
                "\"values\" must be words, or integers with type: integer; type \(type.rawValue) cannot have them"
            )
            return []
        }
        guard case .sequence(let elements) = node.content, !elements.isEmpty else {
            self.problems.error(
                node.position,
                "\"values\" must be a list of at least one, like [a, b]"
            )
            return []
        }
        let plain = DeclaredField(
            name: "values",
            type: type,
            values: [],
            bounds: .none,
            fallback: nil,
            isOptional: false,
            oldNames: []
        )
        var values: [JSONValue] = []
        var seen: Set<JSONValue> = []
        for element in elements {
            guard let value = plain.value(of: element, self.problems) else { continue }
            if seen.insert(value).inserted {
                values.append(value)
            } else {
                self.problems.error(
                    element.position,
                    "\(value.plainText.quoted) is in \"values\" twice; keep one"
                )
            }
        }
        return values
    }

    private func bounds(
        _ section: Section,
        _ type: JSONFieldType,
        hasValues: Bool
    ) -> DeclaredField.Bounds {
        let least = section["min"]
        let most = section["max"]
        guard let first = least ?? most else { return .none }
        guard !hasValues else {
            self.problems.error(first.position, "\"min\" and \"max\" do not go with \"values\"")
            return .none
        }
        switch type {
        case .integer:
            return self.range(least, most, in: .min ... .max, Int64.init, "a whole number")
                .map { .integers($0) } ?? .none
        case .string:
            return self.range(least, most, in: 0 ... .max, Int64.init, "a number of bytes")
                .map { .bytes($0) } ?? .none
        case .number:
            return self.range(
                least,
                most,
                in: DeclaredField.widestNumbers,
                Self.number,
                "a number"
            ).map { .numbers($0) } ?? .none
        case .boolean, .array, .object:
            self.problems.error(
                first.position,
                "\"min\" and \"max\" apply to integers, numbers and strings, not to type \(type.rawValue)"
            )
            return .none
        }
    }

    /// A number by its exact value, if it is written as in JSON.
    private static func number(_ text: String) -> JSONDecimal? {
        if case .number(let number)? = JSONValue(parsing: text) { return JSONDecimal(number) }
        return Double(text).flatMap { $0.isFinite ? JSONDecimal("\($0)") : nil }
    }

    private func range<Value: Comparable>(
        _ least: YAMLNode?,
        _ most: YAMLNode?,
        in widest: ClosedRange<Value>,
        _ read: (String) -> Value?,
        _ what: String
    ) -> ClosedRange<Value>? {
        func bound(_ node: YAMLNode?, _ key: String, _ usual: Value) -> Value? {
            guard let node else { return usual }
            guard let value = node.text.flatMap(read), widest.contains(value) else {
                self.problems.error(node.position, "\(key.quoted) is \(what)")
                return nil
            }
            return value
        }
        guard let lower = bound(least, "min", widest.lowerBound),
            let upper = bound(most, "max", widest.upperBound)
        else { return nil }
        guard lower <= upper else {
            self.problems.error(
                (most ?? least)?.position ?? .start,
                "\"max\" is less than \"min\"; nothing would fit"
            )
            return nil
        }
        return lower...upper
    }
}
