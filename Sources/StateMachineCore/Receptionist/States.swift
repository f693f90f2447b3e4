extension StateMachine {
    /// The present state and those after it, as a sequence; each of its iterators starts when it is
    /// made.
    ///
    /// It ends when the task is cancelled, and when the machine goes. An iterator that falls behind
    /// goes on with the newest state.
    public var states: some AsyncSequence<State, Never> & Sendable {
        self.transitions(starting: .current).map { heard in
            switch heard {
            case .current(let snapshot), .missed(_, let snapshot): snapshot.state
            case .change(let transition): transition.new
            }
        }
    }

    /// Waits for a state: the present one, or the first that is entered from now on, however briefly.
    ///
    /// - Parameter isWanted: pure; called in the waiting task, and not where the state is set. A slow
    ///   one holds up nobody else.
    /// - Returns: where the machine was then; it may have moved on.
    /// - Throws: `CancellationError`.
    @discardableResult
    public func wait(
        until isWanted: @escaping @Sendable (State) -> Bool
    ) async throws(CancellationError) -> Snapshot<State> {
        // Without a limit one is always found, or the task is cancelled.
        guard let found = try await self.found(isWanted, within: nil) else {
            throw CancellationError()
        }
        return found
    }

    /// As ``wait(until:)``, but for no longer than `limit`, measured by the machine's clock.
    ///
    /// - Returns: where the machine was then; nil if it was in no such state within the limit.
    @discardableResult
    public func wait(
        until isWanted: @escaping @Sendable (State) -> Bool,
        within limit: Duration
    ) async throws(CancellationError) -> Snapshot<State>? {
        try await self.found(isWanted, within: limit)
    }

    private func found(
        _ isWanted: @escaping @Sendable (State) -> Bool,
        within limit: Duration?
    ) async throws(CancellationError) -> Snapshot<State>? {
        guard !Task.isCancelled else { throw CancellationError() }
        let snapshot = self.snapshot
        if isWanted(snapshot.state) { return snapshot }
        // A state may be there for a moment only: none is dropped that a context would hear of.
        let room = max(1, self.machine.options.laneLimit ?? .max)
        let reader = TransitionReader(
            of: self.machine,
            starting: .current,
            delivering: Delivery<Change>.each.limited(to: room)
        )
        // Not the reader, which ends with this call.
        let finish = reader.finish
        let alarm = limit.map { Alarm(after: $0, on: self.machine.options.clock, ring: finish) }
        defer { alarm?.stop() }
        while let heard = await reader.next(isolation: nil) {
            let snapshot = Snapshot<State>(heard.place)
            if isWanted(snapshot.state) { return snapshot }
        }
        guard !Task.isCancelled else { throw CancellationError() }
        // What was dropped may have led where the machine still is.
        let last = self.snapshot
        return isWanted(last.state) ? last : nil
    }
}
