import StateMachineProtocol

/// What one reader is told of one machine, or of all, as fast as that one reads.
struct EventStream: Sendable {
    private let bell: Bell
    private let machines: @Sendable () -> [Machine]
    /// Whether each event has the machine's name, and an id with the positions in all machines.
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
        var positions = JointPositions(self.id ?? "")
        var readers: [MachineReader] = []
        var shown: [ObjectIdentifier] = []
        var news = self.bell.news.makeAsyncIterator()
        while true {
            let machines = self.machines()
            if machines.map(ObjectIdentifier.init) != shown {
                shown = machines.map(ObjectIdentifier.init)
                // One that is no longer shown has nothing more to tell.
                readers.removeAll { !shown.contains(ObjectIdentifier($0.machine)) }
                let known = Set(readers.map { ObjectIdentifier($0.machine) })
                for machine in machines where !known.contains(ObjectIdentifier(machine)) {
                    let id = self.isJoint ? positions[machine.name]?.description : self.id
                    readers.append(MachineReader(machine, after: id))
                }
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
                    if let cursor = event.cursor { positions[name] = cursor }
                    let id = event.cursor == nil ? nil : positions.description
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
