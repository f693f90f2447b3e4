import StateMachineProtocol

// Reads where something leads: a target, a word of the place, or cases of which the first that holds is taken.
extension DraftReader {
    /// The most cases in one place, and conditions of one case.
    ///
    /// 8: 256 states of as many cases of as many conditions are checked within 100 ms.
    private static let mostCases = 8

    /// The most bytes of what a sender is told.
    ///
    /// 256: as for other texts for people, such as a cause.
    private static let mostRefusalBytes = 256

    /// The cases, in their order.
    func cases(_ node: YAMLNode, of key: String, in place: CasePlace) -> [CaseDraft] {
        guard case .sequence(let elements) = node.content else {
            return [self.aCase(node, of: key, in: place)]
        }
        guard !elements.isEmpty, elements.count <= Self.mostCases else {
            self.problems.error(
                node.position,
                elements.isEmpty
                    ? "\(key.quoted) has an empty list of cases; write where it leads"
                    : "there are \(elements.count) cases; at most \(Self.mostCases) are allowed"
            )
            return []
        }
        return elements.map { self.aCase($0, of: key, in: place) }
    }

    private func aCase(_ node: YAMLNode, of key: String, in place: CasePlace) -> CaseDraft {
        guard case .mapping(let entries) = node.content,
            entries.contains(where: { KeyTable.aCase.has($0.key.text) })
                || !entries.contains(where: { KeyTable.target.hasLike($0.key.text) })
        else { return CaseDraft(conditions: [], move: self.move(node, of: key, in: place)) }
        guard let section = Section(node, .aCase, self.problems) else {
            return CaseDraft(conditions: [], move: .unread(node.position))
        }
        return CaseDraft(
            conditions: section["if"].map { self.conditions($0) } ?? [],
            move: self.move(section, at: node.position, in: place)
        )
    }

    /// What a case that is a map leads to.
    private func move(
        _ section: Section,
        at position: FilePosition,
        in place: CasePlace
    ) -> MoveDraft {
        switch (section["to"], section["refuse"]) {
        case (let target?, nil):
            if case .mapping(let entries) = target.content,
                let key = entries.first(where: { KeyTable.aCase.has($0.key.text) })
            {
                self.problems.error(
                    key.position,
                    "a case has no cases in it; write all conditions in its \"if\", with commas between them"
                )
                return .unread(position)
            }
            return self.move(target, of: "to", in: place)
        case (nil, let refusal?) where place.isForEvents:
            return self.refusal(refusal).map { .refusal($0) } ?? .unread(position)
        case (nil, let refusal?):
            self.problems.error(
                refusal.position,
                "\"refuse\" answers who sends an event, so it may stand only where one leads, under \"when\""
            )
        case (_?, let refusal?):
            self.problems.error(
                refusal.position,
                "a case has \"to\" or \"refuse\", not both"
            )
        case (nil, nil):
            self.problems.error(
                position,
                "a case needs \"to\", with where it leads"
                    + (place.isForEvents ? ", or \"refuse\"" : "")
            )
        }
        return .unread(position)
    }

    /// A word of the place, or a target.
    private func move(_ node: YAMLNode, of key: String, in place: CasePlace) -> MoveDraft {
        if let text = node.text, place.words.contains(text) { return .word(text, node.position) }
        return self.target(node, of: key).map { .target($0) } ?? .unread(node.position)
    }

    private func refusal(_ node: YAMLNode) -> Located<String>? {
        guard let text = node.text(of: "refuse", self.problems) else { return nil }
        guard !text.value.trimmed.isEmpty, text.value.utf8.count <= Self.mostRefusalBytes else {
            return self.problems.refuse(
                node.position,
                "\"refuse\" must be text of 1 to \(Self.mostRefusalBytes) bytes, which the sender is told"
            )
        }
        return text
    }

    /// Splits at commas, but for a link's condition, which goes to the end of the text.
    private static func conditions(_ text: String) -> [String] {
        let parts = text.split(at: ",")
        guard let first = parts.firstIndex(where: { LinkCondition.isMeant(by: $0.trimmed) })
        else { return parts }
        return parts[..<first] + [parts[first...].joined(separator: ",")]
    }

    /// A text, at whose commas it is split, or a list of texts.
    private func conditions(_ node: YAMLNode) -> [Located<String>] {
        let texts: [Located<String>]
        switch node.content {
        case .sequence(let elements):
            texts = elements.texts(self.problems) {
                "a condition must be text, like tries<3, not \($0)"
            }
            guard texts.count == elements.count else { return [] }
        case .scalar, .mapping:
            guard let text = node.text(of: "if", self.problems) else { return [] }
            texts = Self.conditions(text.value).map { Located($0, text.position) }
        }
        guard !texts.isEmpty, texts.count <= Self.mostCases else {
            self.problems.error(
                node.position,
                texts.isEmpty
                    ? "\"if\" has no conditions; write one, like tries<3"
                    : "there are \(texts.count) conditions; at most \(Self.mostCases) are allowed"
            )
            return []
        }
        return texts.map { Located($0.value.trimmed, $0.position) }
    }
}
