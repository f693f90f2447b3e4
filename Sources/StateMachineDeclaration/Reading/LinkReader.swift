import StateMachineProtocol

// Reads which other machines a machine sees, and what its states require of them.
extension DraftReader {
    /// The most links of a machine.
    ///
    /// 16: each is a connection, at both ends.
    private static let mostLinks = 16

    /// The most requirements of a state: as many as a case has conditions.
    private static let mostRequirements = 8

    func links(_ node: YAMLNode?, of machine: String?) -> [LinkDraft] {
        self.named(node, "links", most: Self.mostLinks, "links").compactMap { name, node in
            guard let place = self.place(node, of: name.value) else { return nil }
            if self.ownPlaces.contains(place) {
                self.problems.error(
                    node.position,
                    "\(name.value.quoted) is this machine itself; a condition asks for its own fields without a link"
                )
            }
            // An instance need not be called as its machine is.
            if let machine, place == .instance(machine) {
                self.problems.warn(
                    node.position,
                    "\(name.value.quoted) is an instance called like this machine; if it is this machine itself, the start is refused"
                )
            }
            return LinkDraft(link: Link(name.value, at: place), position: name.position)
        }
    }

    private func place(_ node: YAMLNode, of name: String) -> Link.Place? {
        if case .mapping = node.content {
            let path = Section(node, .link, self.problems)?["runtime-directory"]
                .flatMap { $0.path(of: "runtime-directory", self.problems) }
            return path.map { .directory(RuntimeDirectory($0).withoutSlash.path) }
        }
        guard let text = node.text, !text.isEmpty, text.utf8.count <= 128,
            ![".", ".."].contains(text), !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x2F })
        else {
            return self.problems.refuse(
                node.position,
                "\(name.quoted) must be the name of an instance, - for the one without a name, or "
                    + "{runtime-directory: /a/path}"
            )
        }
        return .instance(text)
    }

    /// What a state requires: a text, or a list of texts.
    func requirements(_ node: YAMLNode) -> [Located<String>] {
        guard case .sequence(let elements) = node.content else {
            return [node.text(of: "requires", self.problems)].compactMap(\.self)
        }
        guard elements.count <= Self.mostRequirements else {
            return self.problems.refuse(
                node.position,
                "there are \(elements.count) requirements; at most \(Self.mostRequirements) are allowed"
            ) ?? []
        }
        return elements.texts(self.problems) {
            "a requirement must be text, like water is ok, not \($0)"
        }
    }
}
