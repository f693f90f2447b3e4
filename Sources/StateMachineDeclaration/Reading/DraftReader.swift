import StateMachineProtocol

/// Reads parts that occur in several places of a file: names, targets, lists of names.
struct DraftReader {
    let problems: Problems
    /// What is made of the names of users and groups.
    var accounts = AccountLookup.none
    /// What holds for every command that does not say otherwise.
    var defaults = CommandSettings()
    /// The fields of the machine, which every state has.
    var shared: [Field] = []
    /// The places at which this machine itself is found.
    var ownPlaces: Set<Link.Place> = []

    /// A name that the file defines; a bad one is reported, but still known where it is used.
    func name(_ text: String, _ position: FilePosition) -> Located<String> {
        if let objection = NameRule.objection(to: text) { self.problems.error(position, objection) }
        return Located(text, position)
    }

    /// The entries of a map whose keys are names, up to the number allowed.
    func named(
        _ node: YAMLNode?,
        _ key: String,
        most: Int,
        _ what: String
    ) -> [(name: Located<String>, value: YAMLNode)] {
        guard let node else { return [] }
        let entries = node.entries(of: key, self.problems)
        guard entries.count <= most else {
            self.problems.cut(
                node.position,
                "there are \(entries.count) \(what); at most \(most) are allowed"
            )
            return []
        }
        return entries.map { (self.name($0.key.text, $0.position), $0.value) }
    }

    /// One name or a list of them, of things that are looked up later.
    func names(_ node: YAMLNode?, of key: String, orOne: Bool = false) -> [Located<String>] {
        guard let node else { return [] }
        switch node.content {
        case .scalar(let scalar) where orOne && !node.isEmpty:
            return [Located(scalar.text, node.position)]
        case .sequence(let elements):
            return elements.texts(self.problems) {
                "\(key.quoted) must be a list of names, but this is \($0)"
            }
        case .scalar(let scalar):
            let isWord = scalar.text.utf8.first?.isLetterOrDigit == true
            let example =
                node.isEmpty
                ? key == "by" ? "[root]" : "[]"
                : "[\(isWord ? scalar.text.excerpt() : scalar.text.quoted)]"
            self.problems.error(node.position, "\(key.quoted) must be a list; write \(example)")
        case .mapping: self.problems.error(node.position, "\(key.quoted) must be a list, not a map")
        }
        return []
    }

    func namesOrAny(_ node: YAMLNode, of key: String) -> NamesDraft {
        node.text == "any" ? .any : .listed(self.names(node, of: key))
    }

    /// A target, as text or as a map; nil, after reporting it, if it is neither.
    func target(_ node: YAMLNode, of key: String) -> TargetDraft? {
        switch node.content {
        case .scalar(let scalar) where !node.isEmpty:
            return self.target(scalar.text, node.position, of: key)
        case .mapping:
            guard let section = Section(node, .target, self.problems) else { return nil }
            let data =
                self.literals(section, "data", .datum) + self.literals(section, "add", .amount)
            guard let state = section["state"]?.text(of: "state", self.problems) else { return nil }
            return TargetDraft(state: state, data: data)
        case .scalar, .sequence:
            return self.problems.refuse(
                node.position,
                "\(key.quoted) must lead to a state; write it like: broken reason=menu"
            )
        }
    }

    private func literals(
        _ section: Section,
        _ key: String,
        _ kind: TargetDraft.Literal.Kind
    ) -> [TargetDraft.Literal] {
        (section[key]?.entries(of: key, self.problems) ?? []).map {
            TargetDraft.Literal(
                field: Located($0.key.text, $0.position),
                value: $0.value,
                kind: kind
            )
        }
    }

    private func target(_ text: String, _ position: FilePosition, of key: String) -> TargetDraft? {
        let words = text.splitAtWhiteSpace
        guard let state = words.first else {
            return self.problems.refuse(
                position,
                "\(key.quoted) must lead to a state; write its name"
            )
        }
        var data: [TargetDraft.Literal] = []
        var isWhole = true
        for word in words.dropFirst() {
            let parts = word.split(at: "=", maxSplits: 1)
            guard parts.count == 2, !parts[0].isEmpty else {
                self.problems.error(
                    position,
                    "\(word.quoted) is not key=value; write a value with spaces as "
                        + "{state: \(state.excerpt()), data: {key: a b}}"
                )
                isWhole = false
                continue
            }
            let name = parts[0]
            guard !data.contains(where: { $0.field.value.isSpelled(name) }) else {
                self.problems.error(position, "\(name.quoted) is given twice; keep one")
                continue
            }
            let value = YAMLScalar(text: parts[1], isPlain: false)
            data.append(
                TargetDraft.Literal(
                    field: Located(name, position),
                    value: YAMLNode(content: .scalar(value), position: position),
                    kind: .word
                )
            )
        }
        return TargetDraft(state: Located(state, position), data: data, isWhole: isWhole)
    }

    func reactions(_ node: YAMLNode?) -> [ReactionDraft] {
        var seen: [LinkCondition: Located<String>] = [:]
        return (node?.entries(of: "when", self.problems) ?? []).map { entry in
            let key = Located(entry.key.text, entry.position)
            let condition = LinkCondition(key.value)
            if let condition, let first = seen.updateValue(key, forKey: condition),
                first.value != key.value
            {
                self.problems.error(
                    key.position,
                    "\(key.value.quoted) is the same as what is given in line \(first.position.line); keep one"
                )
            }
            return ReactionDraft(
                event: key,
                cases: self.cases(
                    entry.value,
                    of: key.value,
                    in: condition == nil ? .when : .link
                )
            )
        }
    }
}
