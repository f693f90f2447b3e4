import StateMachineProtocol

extension YAMLNode {
    /// The text; nil, after reporting it, if it is a list, a map or nothing.
    func text(of key: String, _ problems: Problems) -> Located<String>? {
        guard let text = self.text, !self.isEmpty else {
            problems.error(self.position, "\(key.quoted) is text, not \(self.kind)")
            return nil
        }
        return Located(text, self.position)
    }

    /// `true` or `false`; anything else is reported.
    func boolean(of key: String, _ problems: Problems) -> Bool? {
        switch self.text {
        case "true": return true
        case "false": return false
        case nil, .some:
            problems.error(self.position, "\(key.quoted) is true or false")
            return nil
        }
    }

    func integer(of key: String, in range: ClosedRange<Int>, _ problems: Problems) -> Int? {
        guard let text = self.text, let value = Int(text), range.contains(value) else {
            problems.error(
                self.position,
                "\(key.quoted) is a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
            return nil
        }
        return value
    }

    func time(of key: String, _ problems: Problems) -> Duration? {
        guard let text = self.text, !self.isEmpty else {
            problems.error(self.position, "\(key.quoted) is a time, like 30s, not \(self.kind)")
            return nil
        }
        do {
            return try TimeText.duration(text)
        } catch {
            problems.error(self.position, error.sentence)
            return nil
        }
    }

    /// `mayBeMissing`: `-` before it may say that nothing need be there.
    func path(of key: String, _ problems: Problems, mayBeMissing: Bool = false) -> String? {
        guard let text = self.text(of: key, problems) else { return nil }
        let path =
            mayBeMissing && text.value.hasPrefix("-") ? text.value.dropFirst() : text.value[...]
        guard path.utf8.first == UInt8(ascii: "/") else {
            let other = mayBeMissing ? ", or with -/ if it need not be there" : ""
            problems.error(self.position, "\(key.quoted) is a path that begins with /\(other)")
            return nil
        }
        return text.value
    }

    /// The entries of a map whose keys the file defines; nothing counts as no entries.
    func entries(of key: String, _ problems: Problems) -> [YAMLEntry] {
        switch self.content {
        case .mapping(let entries): return entries
        case .scalar where self.isEmpty: return []
        case .scalar, .sequence:
            problems.error(self.position, "\(key.quoted) is a map, not \(self.kind)")
            return []
        }
    }
}
