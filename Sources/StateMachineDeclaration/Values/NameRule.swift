import StateMachineProtocol

/// The rule for names that a file defines: `[A-Za-z][A-Za-z0-9_-]{0,63}`, and not a reserved word.
enum NameRule {
    /// Words with a meaning of their own in places where names may stand.
    static let reserved = ["again", "stay", "ignore", "any", "else"]

    /// What is wrong with a name; nil if nothing is.
    static func objection(to name: String) -> String? {
        guard !self.reserved.contains(name) else {
            return "\(name.quoted) is a word of this language; choose another name"
        }
        let bytes = name.utf8
        let isGood =
            (1...64).contains(bytes.count) && bytes.first.map(self.isLetter) ?? false
            && bytes.allSatisfy { byte in
                self.isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
        guard !isGood else { return nil }
        return
            "\(name.quoted) is not a name; write a letter and then up to 63 letters, digits, - and _"
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

extension String {
    /// The words between spaces, tabs and line ends.
    var splitAtWhiteSpace: [String] {
        self.utf8.split { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.map { String(Substring($0)) }
    }
}
