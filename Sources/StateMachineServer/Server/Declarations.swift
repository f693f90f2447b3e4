import StateMachineCore
import StateMachineProtocol

/// A declaration that watches are told of.
struct Declared {
    let hash: String
    let version: String?
    /// The first change whose state it declares.
    let seq: UInt64

    init(_ declaration: RecordedDeclaration, from seq: UInt64) {
        self.hash = declaration.hash
        self.version = declaration.version
        self.seq = seq
    }
}

/// What has declared the machine since this process has served it, and how much of that each watch knows.
///
/// Empty if the program itself defines the states. Belongs to the event loop.
struct Declarations {
    private var all: [Declared]

    init(_ first: RecordedDeclaration?, from seq: UInt64) {
        self.all = first.map { [Declared($0, from: seq)] } ?? []
    }

    var count: Int { self.all.count }

    /// A declaration is in force from that change on.
    mutating func append(_ declaration: RecordedDeclaration, from seq: UInt64) {
        self.all.append(Declared(declaration, from: seq))
    }

    /// The next declaration for who knows the first `known`; nil if there is none.
    func next(after known: Int) -> Declared? {
        known < self.all.count ? self.all[known] : nil
    }

    /// The hash of the newest declaration that a watch knows.
    func hash(knownTo watch: Watch) -> String? {
        watch.cursor.declarations > 0 ? self.all[watch.cursor.declarations - 1].hash : nil
    }

    /// How many declarations a watch of the last process knows, given the hash of the last one that it was told
    /// of: all but the present one if that is another.
    func count(knownBefore hash: String?) -> Int {
        guard let hash, let present = self.all.last, present.hash != hash else {
            return self.all.count
        }
        return self.all.count - 1
    }
}
