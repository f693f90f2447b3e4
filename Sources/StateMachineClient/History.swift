import NIOCore
import StateMachineCore
public import StateMachineProtocol

extension Client {
    /// The changes that the daemon still has, oldest first.
    ///
    /// - Parameters:
    ///   - since: only those after this cursor.
    ///   - limit: the most changes to send; the daemon has a limit of its own.
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
        try await self.changes(.history(since: since, limit: limit, only: only), body)
    }

    /// The changes that a request for history asks for.
    ///
    /// - Parameters:
    ///   - request: one of ``Request/history(since:limit:only:order:after:before:by:cause:)``.
    ///   - progress: called, while nothing is found, with how many changes have been looked at and how many there are
    ///     to be looked at; a daemon that does not know that tells nothing.
    ///   - body: called with each change as it comes, in the order asked for.
    /// - Returns: the reply that ends the list, as for ``history(since:limit:only:_:)``.
    /// - Throws: ``ClientError``, `CancellationError`, or what `body` throws.
    public func changes(
        _ request: Request,
        progress: ((_ examined: UInt64, _ whole: UInt64) -> Void)? = nil,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        try await self.talk { dialogue, vigil in
            let asked = progress == nil ? request : request.reportingProgress
            let reply = try await dialogue.changes(asked, vigil, progress, body)
            guard progress != nil, reply.error == .badRequest, !reply.known.isEmpty,
                !reply.known.contains(RequestKey.progress.rawValue)
            else { return reply }
            return try await dialogue.changes(request, vigil, nil, body)
        }
    }

    /// The change that a request for one asks for; nil if there is none.
    ///
    /// - Parameter request: as for ``changes(_:progress:_:)``, with a limit of 1.
    /// - Returns: the change.
    /// - Throws: ``ClientError``, also for a refusal, or `CancellationError`.
    package func change(_ request: Request) async throws -> Line? {
        var found: Line?
        _ = try await self.changes(request) { found = $0 }.accepted()
        return found
    }

    /// The changes that several requests for history ask for, one request after the other.
    ///
    /// - Parameters:
    ///   - requests: such as those of ``changes(_:_:)``.
    ///   - body: called with each change as it comes.
    /// - Returns: the reply that ends the last list, or the first refusal; nil if nothing was asked.
    /// - Throws: ``ClientError``, `CancellationError`, or what `body` throws.
    public func changes(
        _ requests: [Request],
        _ body: (Line) throws -> Void
    ) async throws -> Line? {
        try await self.talk { dialogue, vigil in
            var reply: Line?
            for request in requests where reply?.isOK ?? true {
                reply = try await dialogue.changes(request, vigil, nil, body)
            }
            return reply
        }
    }

    /// An outline of the changes between two places, the oldest first: which states were entered, and when.
    ///
    /// - Parameters:
    ///   - after: only the changes after this one, or made at this time or later.
    ///   - before: only the changes before this one, or made before this time.
    ///   - body: called with a few thousand changes at a time.
    /// - Returns: the daemon's last reply: a refusal, or a reply that has no more. A daemon that
    ///   does not know outlines refuses them with ``ErrorCode/badRequest``.
    /// - Throws: ``ClientError``, `CancellationError`, or what `body` throws.
    public func outline(
        after: HistoryPosition? = nil,
        before: HistoryPosition? = nil,
        _ body: (TransitionOutline) throws -> Void
    ) async throws -> Line {
        try await self.talk { dialogue, vigil in
            var after = after
            while true {
                var last: String?
                let request = Request.outline(
                    after: after,
                    before: before,
                    limit: RequestLimits.historyChanges
                )
                let reply = try await dialogue.answer(to: request, vigil) { line in
                    guard let outline = TransitionOutline(line) else { return }
                    last = line.cursor
                    try body(outline)
                }
                guard reply.isOK == true, reply.hasMore, let last else { return reply }
                after = .cursor(last)
            }
        }
    }

    /// Reads over a connection of its own, which a vigil watches over.
    private func talk<Answer>(
        _ body: (Dialogue, Vigil) async throws -> Answer
    ) async throws -> Answer {
        let dialogue = try await self.dialogue(isReading: true)
        let vigil = Vigil(over: dialogue.connection, of: self)
        do {
            let answer = try await body(dialogue, vigil)
            await vigil.end()
            await dialogue.connection.close()
            return answer
        } catch {
            await vigil.end()
            throw error
        }
    }
}

extension Dialogue {
    /// Asks for changes and calls `body` with each.
    fileprivate func changes(
        _ request: Request,
        _ vigil: Vigil,
        _ progress: ((UInt64, UInt64) -> Void)?,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        try await self.answer(to: request, vigil) { line in
            if line.kind == .change {
                try body(line)
            } else if let (examined, whole) = line.progress {
                progress?(examined, whole)
            }
        }
    }

    /// Sends a request and calls `body` with each line that comes before the reply.
    fileprivate func answer(
        to request: Request,
        _ vigil: Vigil,
        _ body: (Line) throws -> Void
    ) async throws -> Line {
        try await self.send(request)
        while true {
            let line = try await self.next()
            vigil.lineReceived()
            guard line.kind != .reply else { return line }
            try body(line)
        }
    }
}
