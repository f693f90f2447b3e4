import NIOCore
public import StateMachineProtocol

extension Client {
    /// The changes that the daemon still has, oldest first.
    ///
    /// - Parameters:
    ///   - since: only those after this cursor.
    ///   - limit: at most so many; the daemon has a limit of its own.
    ///   - only: which states; none means every state.
    ///   - body: called with each change as it comes, in order.
    /// - Returns: the reply that ends the list, whatever it says: ``Line/count``, ``Line/hasMore``, and
    ///   ``Line/resync`` if the cursor could not be used or changes are missing; or a refusal, which may
    ///   come after changes, if the daemon cannot read on.
    /// - Throws: ``ClientError``, `CancellationError`, or what `body` throws.
    public func history(
        since: String? = nil,
        limit: UInt64? = nil,
        only: [Pattern] = [],
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        try await self.changes(
            .history(since: since, limit: limit, only: only),
            body
        )
    }

    /// The changes that a request for history asks for.
    ///
    /// - Parameters:
    ///   - request: one of ``Request/history(since:limit:only:order:after:before:by:cause:)``.
    ///   - body: called with each change as it comes, in the order asked for.
    /// - Returns: the reply that ends the list, as of ``history(since:limit:only:_:)``.
    /// - Throws: ``ClientError``, `CancellationError`, or what `body` throws.
    public func changes(
        _ request: Request,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        let dialogue = try await self.dialogue(isReading: true)
        let deadline = dialogue.connection.expectAnswer(within: Self.answerLimit)
        defer { deadline.cancel() }
        try await dialogue.send(request)
        while true {
            let line = try await dialogue.next()
            deadline.cancel()
            guard line.kind != .reply else {
                await dialogue.connection.close()
                return line
            }
            if line.kind == .change { try body(line) }
        }
    }
}
