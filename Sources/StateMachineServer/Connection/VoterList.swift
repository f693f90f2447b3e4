import StateMachineProtocol

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

    init(in kept: KeptRequests) {
        self.kept = kept
    }

    private mutating func countRequests() {
        var bytes = 0
        for hold in self.holds { bytes += hold.request.count }
        for voter in self.guards { bytes += voter.request.count }
        self.requestBytes = bytes
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

    /// Refuses to keep a request if that would be too many bytes.
    func checkRoom(for line: [UInt8]) throws(WireError) { try self.kept.checkRoom(for: line) }

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
