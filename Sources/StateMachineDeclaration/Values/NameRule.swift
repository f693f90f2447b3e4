import StateMachineProtocol

/// The rule for names that a file defines: `[A-Za-z][A-Za-z0-9_-]{0,63}`, and not a reserved word.
enum NameRule {
    /// Words with a meaning of their own in places where names may stand.
    static let reserved = ["again", "stay", "ignore", "any", "else"]

    /// What is wrong with a name; nil if nothing is.
    static func objection(to name: String) -> String? {
        guard !self.reserved.contains(name) else {
            return "\(name.quoted) is a reserved word; choose another name"
        }
        let isGood =
            name.utf8.count <= 64 && name.utf8.first?.isLetter == true
            && name.utf8.allSatisfy { $0.isLetterOrDigit || "_-".utf8.contains($0) }
        guard !isGood else { return nil }
        return
            "\(name.quoted) is not a name; write a letter and then up to 63 letters, digits, - and _"
    }
}

extension String {
    /// The words between spaces, tabs and line ends.
    var splitAtWhiteSpace: [String] {
        self.utf8.split { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.map { String(Substring($0)) }
    }
}
