/// A declaration, which says how a machine's states look, as it was recorded.
///
/// A reference to something that never changes: every state of the machine leads to it.
package final class RecordedDeclaration: Sendable {
    /// The SHA-256 of the text, in hexadecimal digits.
    package let hash: String
    /// The machine's name, if it says one.
    package let machine: String?
    /// Its version, for people.
    package let version: String?
    /// The bytes of the file.
    package let text: String

    /// A declaration with all that is to be written down of it.
    package init(hash: String, machine: String?, version: String?, text: String) {
        self.hash = hash
        self.machine = machine
        self.version = version
        self.text = text
    }

    /// The cause of the changes that it makes: `declaration 1.4`, or with the beginning of the hash
    /// if it has no version.
    package var cause: String { "declaration \(self.version ?? String(self.hash.prefix(12)))" }
}
