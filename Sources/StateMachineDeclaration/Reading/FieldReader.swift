import StateMachineProtocol

// Reads the fields of states and events.
extension DraftReader {
    /// The most fields of a state or an event.
    private static let mostFields = 32

    /// Other languages' names for the types.
    private static let foreignNames: [String: JSONFieldType] = [
        "int": .integer, "text": .string, "str": .string, "bool": .boolean, "float": .number,
        "double": .number, "list": .array, "map": .object, "duration": .time, "date": .instant,
        "datetime": .instant, "timestamp": .instant,
    ]

    func fields(_ node: YAMLNode?, of key: String, _ table: KeyTable) -> [Field] {
        self.named(node, key, most: Self.mostFields, "fields").compactMap { name, node in
            let field = self.field(node, name, table)
            if field == nil { self.problems.noteUnread(field: name.value) }
            return field
        }
    }

    /// The fields of a state: its own, and behind them those of the machine.
    func stateFields(_ node: YAMLNode?, of state: Located<String>) -> [Field] {
        let own = self.fields(node, of: "fields", .field)
        let entries =
            if case .mapping(let entries)? = node?.content { entries } else { [YAMLEntry]() }
        for entry in entries
        where self.shared.contains(where: { $0.name.isSpelled(entry.key.text) }) {
            self.problems.error(
                entry.position,
                "\(entry.key.text.quoted) is a field of the machine, which every state has; remove one of them"
            )
        }
        let all =
            own.filter { field in !self.shared.contains { $0.name.isSpelled(field.name) } }
            + self.shared
        guard all.count > Self.mostFields else { return all }
        self.problems.error(
            node?.position ?? state.position,
            "\(state.value.quoted) has \(all.count) fields, with those of the machine; at most \(Self.mostFields) are allowed"
        )
        return own
    }

    /// The fields' old names and their places; what is wrong with them as names is reported with the fields.
    func oldNames(ofFields node: YAMLNode?) -> [Located<String>] {
        guard case .mapping(let fields)? = node?.content else { return [] }
        return fields.flatMap { field -> [Located<String>] in
            guard case .mapping(let keys) = field.value.content,
                let was = keys.first(where: { $0.key.text == "was" })?.value
            else { return [] }
            let names = if case .sequence(let names) = was.content { names } else { [was] }
            return names.compactMap { name in name.text.map { Located($0, name.position) } }
        }
    }

    private func field(
        _ node: YAMLNode,
        _ name: Located<String>,
        _ table: KeyTable
    ) -> Field? {
        if let text = node.text, !node.isEmpty {
            return self.type(text, node.position).map { Field(name.value, type: $0) }
        }
        guard let section = Section(node, table, at: name.position, self.problems) else {
            return nil
        }
        guard let written = section["type"] else {
            guard section["values"] != nil else {
                return self.problems.refuse(
                    name.position,
                    "\(name.value.quoted) needs a type, or values; write \(name.value): string"
                )
            }
            return self.field(section, name, .string)
        }
        return written.text(of: "type", self.problems)
            .flatMap { self.type($0.value, $0.position) }
            .map { self.field(section, name, $0) }
    }

    private func field(
        _ section: Section,
        _ name: Located<String>,
        _ type: JSONFieldType
    ) -> Field {
        var field = Field(name.value, type: type)
        field.isOptional = section["optional"]?.boolean(of: "optional", self.problems) ?? false
        field.values = section["values"].flatMap { self.values($0, type) } ?? []
        if let bounds = self.bounds(section, type, hasValues: !field.values.isEmpty) {
            field.bounds = bounds
        }
        if section.table.has("was") {
            field.oldNames = self.names(section["was"], of: "was", orOne: true).map(\.value)
        }
        if let node = section["default"] {
            if type == .boolean { self.problems.booleans.note(node) }
            // A default that does not fit is reported once; for targets the field still has a
            // default.
            field.fallback = field.value(of: node, self.problems) ?? .null
            if field.isOptional {
                self.problems.error(
                    node.position,
                    "\(name.value.quoted) has a default, so it is never absent; remove optional, or the default"
                )
            }
        }
        return field
    }

    /// The type of that name, or of another language's.
    func knownType(_ text: String) -> JSONFieldType? {
        JSONFieldType(rawValue: text) ?? Self.foreignNames[text]
    }

    /// The type of that name, or the one meant; if nil, no more is reported about the field.
    private func type(_ text: String, _ position: FilePosition) -> JSONFieldType? {
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
        return self.problems.refuse(
            position,
            "there is no type \(text.quoted)"
                + (optional.map { "; write {type: \($0.rawValue), optional: true}" }
                    ?? self.problems.suggestion(
                        for: text,
                        among: JSONFieldType.allCases.map(\.rawValue)
                    ))
        )
    }

    private func values(_ node: YAMLNode, _ type: JSONFieldType) -> [JSONValue]? {
        guard type == .string || type == .integer else {
            return self.problems.refuse(
                node.position,
                "a field of type \(type.rawValue) cannot have \"values\"; only string and integer can"
            )
        }
        guard case .sequence(let elements) = node.content, !elements.isEmpty else {
            return self.problems.refuse(
                node.position,
                "\"values\" must be a list of at least one value, like [a, b]"
            )
        }
        let plain = Field("values", type: type)
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
    ) -> Field.Bounds? {
        guard let first = section["min"] ?? section["max"] else { return nil }
        guard !hasValues else {
            return self.problems.refuse(
                first.position,
                "\"min\" and \"max\" cannot be used with \"values\"; remove them"
            )
        }
        let read: (String) -> JSONDecimal?
        let what: String
        // What limits nothing is no bound.
        let widest: [String]
        switch type {
        case .integer:
            read = { text in Int64(text).flatMap { JSONDecimal("\($0)") } }
            (what, widest) = ("a whole number", ["\(Int64.min)", "\(Int64.max)"])
        case .string:
            read = { text in Int64(text).flatMap { $0 < 0 ? nil : JSONDecimal("\($0)") } }
            (what, widest) = ("a number of bytes", ["0", "\(Int64.max)"])
        case .number:
            let end = "\(Double.greatestFiniteMagnitude)"
            (read, what, widest) = (Self.number, "a number", ["-" + end, end])
        case .time:
            read = { text in
                (try? TimeText.duration(text)).map { JSONDecimal("\($0.wholeMilliseconds)") } ?? nil
            }
            let range = Field("", type: .time).takes.dropFirst("a time ".count)
            (what, widest) = ("a time \(range)", ["", ""])
        case .boolean, .array, .object, .instant:
            return self.problems.refuse(
                first.position,
                "\"min\" and \"max\" apply to integers, numbers, strings and times, not to type \(type.rawValue)"
            )
        }
        func bound(_ key: String, _ widest: String) -> JSONDecimal?? {
            guard let node = section[key] else { return .some(nil) }
            if let value = node.text.flatMap(read) {
                return .some(value == JSONDecimal(widest) ? nil : value)
            }
            return self.problems.refuse(node.position, "\(key.quoted) must be \(what)")
        }
        guard let least = bound("min", widest[0]), let most = bound("max", widest[1]) else {
            return nil
        }
        if let least, let most, most < least {
            return self.problems.refuse(
                (section["max"] ?? first).position,
                "\"max\" is less than \"min\", so no value would fit; correct one"
            )
        }
        let usual = Field("", type: type).bounds
        return Field.Bounds(least: least ?? usual.least, most: most ?? usual.most)
    }

    /// A number by its exact value, if it is written as in JSON, as far as a double goes.
    private static func number(_ text: String) -> JSONDecimal? {
        guard case .number(let number)? = JSONValue(parsing: text) else {
            return Double(text).flatMap { $0.isFinite ? JSONDecimal("\($0)") : nil }
        }
        return Double(number).flatMap { $0.isFinite ? JSONDecimal(number) : nil }
    }
}

extension Field {
    /// The value that the file gives for this field; nil, after reporting it, if it does not fit.
    func value(of node: YAMLNode, _ problems: Problems) -> JSONValue? {
        let value: JSONValue
        switch node.content {
        case .scalar(let scalar):
            guard !node.isEmpty else {
                return problems.refuse(
                    node.position,
                    "\(self.name)=: write a value, or \"\" for no text"
                )
            }
            do {
                return try self.value(ofText: scalar.text)
            } catch {
                return problems.refuse(node.position, error.refusal(of: scalar.text).message)
            }
        case .sequence, .mapping: value = node.json
        }
        if let misfit = self.misfit(of: value) {
            return problems.refuse(node.position, misfit.refusal.message)
        }
        return value
    }
}

extension YAMLNode {
    /// The node as JSON; every scalar is a string.
    fileprivate var json: JSONValue {
        switch self.content {
        case .scalar(let scalar): .string(scalar.text)
        case .sequence(let elements): .array(elements.map(\.json))
        case .mapping(let entries): .object(entries.map { JSONMember($0.key.text, $0.value.json) })
        }
    }
}
