import StateMachineProtocol

/// Reads the properties of the units that commands are run as.
struct UnitPropertyReader {
    let problems: Problems
    let booleans: BooleanPlaces

    /// What one name sets, which may be more than one property.
    struct Setting {
        let name: String
        let properties: [UnitProperty]
    }

    /// The settings in a map of properties, in the order of the file.
    func settings(_ node: YAMLNode?) -> [Setting] {
        (node?.entries(of: "properties", self.problems) ?? []).compactMap { entry in
            let name = entry.key.text
            guard let kind = UnitPropertyTable.kind(of: name) else {
                self.problems.error(
                    entry.position,
                    "there is no property \(name.quoted)" + self.remark(on: name)
                )
                return nil
            }
            if kind.hasBooleans { self.booleans.note(entry.value) }
            guard let words = self.words(entry.value, kind),
                let properties = UnitPropertyText.properties(name, kind, words)
            else {
                let given = entry.value.text.map { "=\($0.excerpt())" } ?? ""
                self.problems.error(
                    entry.value.position,
                    "\(name)\(given): write \(kind.expected)"
                )
                return nil
            }
            return Setting(name: name, properties: properties)
        }
    }

    private func remark(on name: String) -> String {
        if let key = UnitPropertyTable.others[name] {
            return "; write \(key.quoted) into the command itself"
        }
        return NearestName.of(name, among: UnitPropertyTable.names).map { "; did you mean \($0)?" }
            ?? "; statemachine-machine(5) lists those that there are"
    }

    /// The words of a list, or of a text as unit files have it.
    private func words(_ node: YAMLNode, _ kind: UnitPropertyKind) -> [String]? {
        switch node.content {
        case .scalar(let scalar):
            guard !node.isEmpty else { return nil }
            return kind.isList ? scalar.text.splitAtWhiteSpace : [scalar.text]
        case .sequence(let elements):
            let texts = elements.compactMap { $0.isEmpty ? nil : $0.text }
            return kind.isList && texts.count == elements.count ? texts : nil
        case .mapping: return nil
        }
    }
}
