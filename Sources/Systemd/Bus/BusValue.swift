/// A value with its D-Bus type.
package enum BusValue: Hashable, Sendable {
    case boolean(Bool)
    case signed(Int32)
    case unsigned(UInt64)
    case unsigned32(UInt32)
    case text(String)
    case texts([String])
    case bytes([UInt8])
    /// Texts that may not be valid UTF-8.
    case byteTexts([[UInt8]])
    /// Programs with their words, the first of which is the name given to the program. In words `$`
    /// begins a variable, and `$$` is a dollar: systemd.service(5).
    case commands([Command])
    /// Files, and whether each may be missing.
    case files([File])
    /// A list of all that is allowed, or of what is forbidden.
    case filter(isAllowing: Bool, [String])

    package struct Command: Hashable, Sendable {
        package let program: String
        package let words: [String]
        /// Whether its exit status is ignored.
        package let mayFail: Bool

        package init(_ program: String, words: [String], mayFail: Bool) {
            self.program = program
            self.words = words
            self.mayFail = mayFail
        }
    }

    package struct File: Hashable, Sendable {
        package let path: String
        package let mayBeMissing: Bool

        package init(_ path: String, mayBeMissing: Bool) {
            self.path = path
            self.mayBeMissing = mayBeMissing
        }
    }

    /// The type's code.
    var signature: String {
        switch self {
        case .boolean: "b"
        case .signed: "i"
        case .unsigned: "t"
        case .unsigned32: "u"
        case .text: "s"
        case .texts: "as"
        case .bytes: "ay"
        case .byteTexts: "aay"
        case .commands: "a(sasb)"
        case .files: "a(sb)"
        case .filter: "(bas)"
        }
    }
}
