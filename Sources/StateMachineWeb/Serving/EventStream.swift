import StateMachineProtocol
import Synchronization

/// What one reader is told of one machine, or of all, as fast as that one reads.
struct EventStream: Sendable {
    private let bell: Bell
    private let machines: @Sendable () -> [Machine]
    /// Whether each event has the machine's name, and an id with the places in all machines.
    private let isJoint: Bool
    /// The last id that the reader has seen.
    private let id: String?

    /// What happens to one machine.
    init(_ machine: Machine, after id: String?) {
        self.bell = machine.feed.bell
        self.machines = { [machine] }
        self.isJoint = false
        self.id = id
    }

    /// What happens to all machines.
    init(_ machines: Machines, after id: String?) {
        self.bell = machines.bell
        self.machines = { machines.all }
        self.isJoint = true
        self.id = id
    }

    /// Writes the stream until the service ends.
    ///
    /// - Parameter write: writes bytes, and returns when there is room for more.
    /// - Throws: what writing throws, and `CancellationError`.
    func run(_ write: ([UInt8]) async throws -> Void) async throws {
        // At once, so that the browser knows that it is connected.
        try await write(ServerEvent.beginning)
        var places = JointPlaces(self.id ?? "")
        var readers: [MachineReader] = []
        var news = self.bell.news.makeAsyncIterator()
        while true {
            for machine in self.machines().dropFirst(readers.count) {
                let id = self.isJoint ? places[machine.name]?.description : self.id
                readers.append(MachineReader(machine, after: id))
            }
            var isQuiet = true
            for index in readers.indices {
                try Task.checkCancellation()
                let events = try await readers[index].next()
                guard !events.isEmpty else { continue }
                isQuiet = false
                let name = readers[index].machine.name
                let bytes = events.flatMap { event in
                    guard self.isJoint else { return event.bytes }
                    if let cursor = event.cursor { places[name] = cursor }
                    let id = event.cursor == nil ? nil : places.description
                    return event.bytes(id: id, instance: .string(name))
                }
                try await write(bytes)
            }
            guard isQuiet else { continue }
            switch await news.next() {
            case .events?: break
            case .beat?: try await write(ServerEvent.beat)
            case nil: return
            }
        }
    }
}

/// Counts the streams, and the requests that wait, of each address.
///
/// Guarded state: the counts, behind a lock.
final class StreamSlots: Sendable {
    /// The most streams and waits of one address.
    ///
    /// 256: half of all connections, so that one address leaves room for others. A Unix socket's
    /// peers have no addresses to tell them apart; only the limit of all connections applies to
    /// them.
    static let perAddress = 256

    /// A slot, taken for as long as this value lives.
    final class Slot: Sendable {
        private let slots: StreamSlots
        private let address: String?

        fileprivate init(_ slots: StreamSlots, _ address: String?) {
            (self.slots, self.address) = (slots, address)
        }

        deinit {
            if let address { self.slots.giveBack(address) }
        }
    }

    private let counts = Mutex<[String: Int]>([:])

    /// Takes a slot; nil if there is none.
    func take(_ address: String?) -> Slot? {
        guard let address else { return Slot(self, nil) }
        let hasRoom = self.counts.withLock { counts in
            let count = counts[address] ?? 0
            guard count < Self.perAddress else { return false }
            counts[address] = count + 1
            return true
        }
        return hasRoom ? Slot(self, address) : nil
    }

    private func giveBack(_ address: String) {
        self.counts.withLock { counts in
            let count = counts[address] ?? 1
            counts[address] = count > 1 ? count - 1 : nil
        }
    }
}
