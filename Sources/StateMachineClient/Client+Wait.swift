extension Client {
    /// How long a wait that has lost its daemon tries to find it again.
    ///
    /// 60 s: what a slow restart takes, with room to spare.
    public static let patience = Duration.seconds(60)

    /// Waits for a state, over restarts of the daemon.
    ///
    /// A state that was reached while there was no connection counts.
    ///
    /// - Parameters:
    ///   - until: patterns, strings or objects, of the states to wait for.
    ///   - fail: patterns of states that end the wait badly; they win.
    ///   - since: changes after this cursor are judged too.
    ///   - timeout: after how long the daemon is to answer ``RefusalCode/timeout``; nil means never.
    ///   - clock: what the time is measured with while there is no connection.
    ///   - interrupted: told why there is no connection, the number of the next attempt, from 1,
    ///     and the pause before it.
    /// - Returns: the reply, whatever it says.
    /// - Throws: ``ClientError``, among them ``ClientError/lostForGood(path:after:)``, or
    ///   `CancellationError`.
    public func wait<C: Clock<Duration>>(
        until: [JSON],
        fail: [JSON] = [],
        since: String? = nil,
        timeout: Duration? = nil,
        clock: C = ContinuousClock(),
        interrupted: (ClientError, Int, Duration) -> Void = { _, _, _ in }
    ) async throws -> Line {
        // The time runs from when the daemon is asked, so that it is told the time as it was given.
        var deadline: C.Instant?
        var resumption = Resumption(since: since, isPatient: false)
        var random = SystemRandomNumberGenerator()
        var lostAt: C.Instant?
        while true {
            do {
                let dialogue = try await self.dialogue(isReading: true)
                // A wait says nothing before its end: that a daemon is there shows here, and where
                // the wait begins.
                let start = try await dialogue.reply(to: .get, within: Self.answerLimit)
                if resumption.cursor == nil {
                    resumption.lineReceived(start)
                } else {
                    resumption.hasAnswered()
                }
                lostAt = nil
                let remaining = deadline.map { clock.now.duration(to: $0) } ?? timeout
                deadline = deadline ?? timeout.map { clock.now.advanced(by: $0) }
                let request = Request.wait(
                    until: until,
                    fail: fail,
                    since: resumption.cursor,
                    timeout: remaining
                )
                let limit = remaining.map { max(.zero, $0) + Self.answerLimit }
                let reply = try await dialogue.reply(to: request, within: limit)
                await dialogue.connection.close()
                guard reply.error == .shuttingDown else { return reply }
                throw ClientError.refused(reply)
            } catch let error as ClientError {
                guard case .retry(let pause) = resumption.connectionFailed(error, using: &random)
                else { throw error }
                let began = lostAt ?? clock.now
                lostAt = began
                let patienceEnd = began.advanced(by: Self.patience)
                let end = min(patienceEnd, deadline ?? patienceEnd)
                guard clock.now < end else {
                    throw ClientError.lostForGood(
                        path: self.directory.socketPath(of: .events),
                        after: began.duration(to: clock.now)
                    )
                }
                interrupted(error, resumption.attempts, pause)
                try await clock.sleep(
                    until: min(end, clock.now.advanced(by: pause)),
                    tolerance: nil
                )
            }
        }
    }
}
