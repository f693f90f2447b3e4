import StateMachineCore
import StateMachineProtocol

/// A declaration that watches are told of.
struct Declared {
    let declaration: RecordedDeclaration
    /// The first change whose state it declares.
    let seq: UInt64
}

/// What has declared the machine since this process has served it, and how much of that each watch knows; empty if the
/// program itself defines the states.
extension [Declared] {
    /// The hash of the newest declaration that a watch knows.
    func hash(knownTo watch: Watch) -> String? {
        watch.cursor.declarations > 0
            ? self[watch.cursor.declarations - 1].declaration.hash : nil
    }

    /// How many declarations a watch of the last process knows, given the hash of the last one that it was told
    /// of: all but the present one if that is another.
    func count(knownBefore hash: String?) -> Int {
        guard let hash, let present = self.last, present.declaration.hash != hash else {
            return self.count
        }
        return self.count - 1
    }
}
