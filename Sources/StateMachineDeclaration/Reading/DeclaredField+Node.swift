import StateMachineProtocol

extension DeclaredField {
    /// The value that the file gives for this field; nil, after reporting it, if it does not fit.
    func value(of node: YAMLNode, _ problems: Problems) -> JSONValue? {
        let value: JSONValue
        switch node.content {
        case .scalar(let scalar):
            guard !node.isEmpty else {
                problems.error(node.position, "\(self.name)=: write a value, or \"\" for no text")
                return nil
            }
            switch self.value(ofText: scalar.text) {
            case .success(let value): return value
            case .failure(let objection):
                let sentence = objection.sentence(about: self.name, .string(scalar.text))
                problems.error(node.position, sentence)
                return nil
            }
        case .sequence, .mapping: value = node.json
        }
        if let objection = self.objection(to: value) {
            problems.error(node.position, objection.sentence(about: self.name, value))
            return nil
        }
        return value
    }
}

extension YAMLNode {
    /// The node as JSON; every scalar is a string.
    private static func json(_ node: YAMLNode) -> JSONValue {
        switch node.content {
        case .scalar(let scalar): .string(scalar.text)
        case .sequence(let elements): .array(elements.map(self.json))
        case .mapping(let entries):
            .object(entries.map { JSONMember($0.key.text, self.json($0.value)) })
        }
    }

    var json: JSONValue { Self.json(self) }
}
