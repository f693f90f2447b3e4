import StateMachineCore
public import StateMachineProtocol

extension Client {
    /// How long a wait that has lost its daemon tries to find it again.
    ///
    /// 60 s: what a slow restart takes, with room to spare.
    public static let reconnectionTimeout = Duration.seconds(60)

    /// How late a daemon may answer ``ErrorCode/timeout``.
    ///
    /// 1 s: its answer says more than ours, and a daemon that is merely busy gives it by then.
    package static let lateness = Duration.seconds(1)

    /// Waits for a state, over restarts of the daemon.
    ///
    /// A state that was reached while there was no connection counts.
    ///
    /// - Parameters:
    ///   - until: the states to wait for.
    ///   - fail: the states that end the wait badly; they win over `until`.
    ///   - since: changes after this cursor are evaluated too.
    ///   - timeout: after how long the daemon is to answer ``ErrorCode/timeout``; nil means never.
    ///   - isPatient: whether to wait for a daemon that is not there to begin with, within
    ///     `timeout`.
    ///   - clock: what the time is measured with while there is no connection.
    ///   - interrupted: called when there is no connection, with the reason, the number of the next
    ///     attempt, from 1, and the pause before it.
    ///   - reconnected: called when there is a connection again.
    /// - Returns: the reply, whatever it says.
    /// - Throws: ``ClientError``, among them ``ClientError/lostForGood(path:after:)``, and
    ///   ``ClientError/timedOut(path:after:)`` a second after `timeout` if the daemon is silent, and at `timeout` if
    ///   it is not there; or `CancellationError`.
    public func wait<C: Clock<Duration>>(
        until: [Pattern],
        fail: [Pattern] = [],
        since: String? = nil,
        timeout: Duration? = nil,
        isPatient: Bool = false,
        clock: C = ContinuousClock(),
        interrupted: (ClientError, Int, Duration) -> Void = { _, _, _ in },
        reconnected: () -> Void = {}
    ) async throws -> Line {
        // The daemon's timeout runs from the request, so that it is passed on as given; ours runs
        // from now.
        var deadline: C.Instant?
        let beginning = clock.now
        let end = timeout.map { beginning.advanced(by: max(.zero, $0) + Self.lateness) }
        var resumption = Resumption(since: since, isPatient: isPatient)
        var random = SystemRandomNumberGenerator()
        var lostAt: C.Instant?
        while true {
            do {
                let answerTime = end.map { clock.now.duration(to: $0) } ?? Self.answerLimit
                let dialogue = try await self.dialogue(isReading: true, within: answerTime)
                // A wait is silent until it ends: this reply shows that a daemon is there, and
                // where the wait begins.
                let start = try await dialogue.reply(to: .get, within: answerTime)
                guard !start.isOfNoDaemonYet else {
                    await dialogue.connection.close()
                    throw ClientError.refused(start)
                }
                if resumption.cursor == nil {
                    resumption.lineReceived(start)
                } else {
                    resumption.hasAnswered()
                }
                if lostAt != nil { reconnected() }
                lostAt = nil
                let remaining = deadline.map { clock.now.duration(to: $0) } ?? timeout
                deadline = deadline ?? timeout.map { clock.now.advanced(by: $0) }
                let request = Request.wait(
                    until: until,
                    fail: fail,
                    since: resumption.cursor,
                    timeout: remaining
                )
                let limit = end.map { clock.now.duration(to: $0) }
                let reply = try await dialogue.reply(to: request, within: limit)
                await dialogue.connection.close()
                guard reply.isOfNoDaemonYet else { return reply }
                throw ClientError.refused(reply)
            } catch let error as ClientError {
                if let timeout, case .silent(let path, _) = error {
                    throw ClientError.timedOut(path: path, after: timeout)
                }
                guard let pause = resumption.connectionFailed(error, using: &random) else {
                    throw error
                }
                // The time that the daemon takes to appear counts towards the timeout.
                let isAppearing = !resumption.isKnown && isPatient
                if isAppearing { deadline = timeout.map { beginning.advanced(by: $0) } }
                let began = lostAt ?? clock.now
                lostAt = began
                let last = isAppearing ? nil : began.advanced(by: Self.reconnectionTimeout)
                let giveUp = [last, deadline].compactMap(\.self).min()
                if let giveUp, clock.now >= giveUp {
                    if let timeout, giveUp == deadline {
                        throw ClientError.timedOut(
                            path: self.directory.socketPath(of: .control),
                            after: timeout
                        )
                    }
                    throw ClientError.lostForGood(
                        path: self.directory.socketPath(of: .events),
                        after: began.duration(to: clock.now)
                    )
                }
                interrupted(error, resumption.attempts, pause)
                let time = giveUp.map { min(pause, clock.now.duration(to: $0)) } ?? pause
                try await clock.quiet.sleep(for: time)
            }
        }
    }
}
