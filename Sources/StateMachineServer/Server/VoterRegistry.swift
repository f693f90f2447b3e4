import StateMachineCore

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
