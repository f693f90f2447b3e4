import StateMachineCore
import StateMachineProtocol

/// All holds and guards of all connections, by number, and the numbers that are given out.
///
/// Belongs to the event loop.
final class VoterRegistry {
    /// Which connection has each hold and guard.
    private var owners: [UInt64: HoldsAndGuards] = [:]
    /// Voters of connections that the next process goes on with; they vote until this process ends.
    private var left: [SocketVoter] = []
    /// The last number that a hold, a guard or a question was given.
    private(set) var lastNumber: UInt64 = 0

    /// A number for a hold, a guard or a question; none is given twice.
    func nextNumber() -> UInt64 {
        self.lastNumber += 1
        return self.lastNumber
    }

    /// Skips the numbers that the last process gave out.
    func skipNumbers(through number: UInt64) { self.lastNumber = max(self.lastNumber, number) }

    func add(_ voter: SocketVoter, of owner: HoldsAndGuards) { self.owners[voter.number] = owner }

    func remove(_ number: UInt64) { self.owners[number] = nil }

    /// The connection's list that has the hold or guard of that number; nil if there is none.
    subscript(_ number: UInt64) -> HoldsAndGuards? { self.owners[number] }

    /// The holds and guards, in no order.
    var all: [SocketVoter] { self.owners.compactMap { $1[$0] } }

    /// The holds, in no order.
    var holds: [SocketVoter] { self.owners.compactMap { $1.hold($0) } }

    /// Keeps voters whose connections have been left to the next process.
    func keep(_ voters: [SocketVoter]) { self.left += voters }
}

/// A connection's holds and guards, each in the order of their requests.
///
/// Their requests count towards what the connection and its user may keep.
///
/// Owns the lists; only ``HoldsAndGuards`` changes them. Belongs to the event loop.
struct VoterList {
    private let kept: KeptRequests

    private(set) var holds: [SocketVoter] = [] {
        didSet { self.countRequests() }
    }
    private(set) var guards: [SocketVoter] = [] {
        didSet { self.countRequests() }
    }
    /// Bytes of the requests that asked for them.
    private var requestBytes = 0 {
        didSet { self.kept.change(by: self.requestBytes - oldValue) }
    }
    /// Patterns that may be matched with states that they do not cover.
    private var inexactPatterns = 0 {
        didSet { self.kept.except(by: self.inexactPatterns - oldValue) }
    }

    init(in kept: KeptRequests) {
        self.kept = kept
    }

    private mutating func countRequests() {
        var (bytes, patterns) = (0, 0)
        for voter in self.all {
            bytes += voter.request.count
            patterns += voter.patterns.patterns.inexactPatterns
        }
        (self.requestBytes, self.inexactPatterns) = (bytes, patterns)
    }

    // MARK: - Which there are

    /// The holds, and after them the guards.
    var all: [SocketVoter] { self.holds + self.guards }

    var isEmpty: Bool { self.holds.isEmpty && self.guards.isEmpty }

    /// The hold of that number; nil if it is none.
    func hold(_ number: UInt64) -> SocketVoter? { self.holds.first { $0.number == number } }

    /// The hold or guard of that number.
    subscript(_ number: UInt64) -> SocketVoter? {
        self.hold(number) ?? self.guards.first { $0.number == number }
    }

    // MARK: - How they change

    /// Refuses one more hold if the limit is reached.
    func checkRoom(forHold limit: Int) throws(WireError) {
        try self.kept.checkRoom("holds", self.holds.count, of: limit)
    }

    /// Refuses one more guard if the limit is reached.
    func checkRoom(forGuard limit: Int) throws(WireError) {
        try self.kept.checkRoom("guards", self.guards.count, of: limit)
    }

    /// Refuses to keep a request if that would be too many bytes, or too many patterns that cost who sets.
    func checkRoom(for line: [UInt8], before patterns: PatternList) throws(WireError) {
        try self.kept.checkRoom(for: line)
        try self.kept.checkExceptions(
            patterns.inexactPatterns,
            of: "holds and guards with \"!\" or several values"
        )
    }

    mutating func append(hold: SocketVoter) { self.holds.append(hold) }

    mutating func append(guard voter: SocketVoter) { self.guards.append(voter) }

    /// Removes the hold or guard of that number.
    mutating func remove(_ number: UInt64) {
        self.holds.removeAll { $0.number == number }
        self.guards.removeAll { $0.number == number }
    }

    /// Removes all of them.
    mutating func clear() {
        self.holds = []
        self.guards = []
    }
}
