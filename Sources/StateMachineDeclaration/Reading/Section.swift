import StateMachineProtocol

/// A map of the file whose keys are known.
///
/// Reports unknown keys, missing keys, and values of the wrong kind.
struct Section {
    let problems: Problems
    let table: KeyTable
    private let entries: [YAMLEntry]

    /// Nil, after reporting it, if it is not a map.
    ///
    /// An empty value counts as a map without keys.
    init?(
        _ node: YAMLNode,
        _ table: KeyTable,
        at position: FilePosition? = nil,
        _ problems: Problems
    ) {
        self.problems = problems
        self.table = table
        switch node.content {
        case .mapping(let entries): self.entries = entries
        case .scalar where node.isEmpty: self.entries = []
        case .scalar, .sequence:
            problems.error(
                node.position,
                "\(table.title) must be a map with the keys \(table.names.joined(separator: ", ")), "
                    + "not \(node.kind)"
            )
            return nil
        }
        for entry in self.entries where !problems.isFull && !table.has(entry.key.text) {
            self.refuse(entry)
        }
        for key in table.keys where key.isNeeded && self[key.name] == nil {
            problems.error(position ?? node.position, "\(table.title) needs \"\(key.name)\"")
        }
    }

    /// The value for a key, if it is given.
    subscript(_ key: String) -> YAMLNode? { self.entry(key)?.value }

    /// A key and its value, if it is given.
    func entry(_ key: String) -> YAMLEntry? {
        assert(self.table.has(key), "\(key) is in no table")
        return self.entries.first { $0.key.text.isSpelled(key) }
    }

    /// The map that is the value for a key, if it is given, and is one.
    func section(_ key: String, _ table: KeyTable) -> Section? {
        self.entry(key).flatMap { Section($0.value, table, at: $0.position, self.problems) }
    }

    private func refuse(_ entry: YAMLEntry) {
        let key = entry.key.text
        let remark: String
        if KeyTable.run.has(key) && !KeyTable.hook.has(key) && self.table.has("command") {
            remark = "; only \"run\" has it"
        } else if KeyTable.run.has(key) && self.table.has("run") {
            remark = "; it belongs in a command: run: {command: …, \(key): …}"
        } else if self.table.has("if"), ComparisonText(key) != nil {
            remark = "; put conditions with a comma between them in quotes"
        } else if self.table.has("if"), key == "else" {
            remark = "; the last case has no \"if\", and always holds"
        } else {
            remark = self.problems.suggestion(for: key, among: self.table.names)
        }
        self.problems.error(
            entry.position,
            "there is no key \(key.quoted) in \(self.table.title)\(remark)"
        )
    }
}
