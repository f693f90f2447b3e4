import StateMachineCore
public import StateMachineProtocol

/// The time for which a change was asked for again is up, and it has not been made.
public struct TimeUp: Error, Hashable, Sendable {
    /// The last answer, as ``ClientError/refused(_:)``, or why there was none.
    public let last: ClientError
}

extension Client {
    /// The pauses between two attempts to make a change, if nothing happens meanwhile: doubled each time.
    ///
    /// 200 ms to 2 s: who denies may go without a change of the state, and each attempt may ask somebody. Not tuned.
    private static let retryPauses = Duration.milliseconds(200)...Duration.seconds(2)

    /// Requests a change, and again for as long as it is put off: denied, or refused for want of room, or the daemon is not
    /// there.
    ///
    /// It is requested again after each change of the state, and after pauses. What may have been done is never requested a
    /// second time: a connection that is lost before the answer is the end. An attempt that is being decided when the time is
    /// up is waited for.
    ///
    /// - Parameters:
    ///   - request: a `set`, `send` or `update`; the conditions in it are judged at each attempt.
    ///   - time: for how long; zero means one attempt.
    ///   - clock: what the time and the pauses are measured with.
    ///   - stillWaiting: as for the reply to one request.
    ///   - putOff: called after each attempt that was, with the reason.
    /// - Returns: the reply, whatever it says otherwise.
    /// - Throws: ``TimeUp``; ``ClientError``, or `CancellationError`.
    public func reply<C: Clock<Duration>>(
        to request: Request,
        tryingFor time: Duration,
        clock: C = ContinuousClock(),
        stillWaiting: @escaping @Sendable (_ isAlive: Bool) -> Void = { _ in },
        putOff: (ClientError) -> Void = { _ in }
    ) async throws -> Line {
        let end = clock.now.advanced(by: time)
        let bell = Doorbell()
        var rings = bell.rings.makeAsyncIterator()
        var pause = Self.retryPauses.lowerBound
        var resumption = Resumption(since: nil, isPatient: true)
        var random = SystemRandomNumberGenerator()
        return try await withThrowingTaskGroup(of: Void.self, returning: Line.self) { group in
            defer { group.cancelAll() }
            var isListening = false
            while true {
                let left = clock.now.duration(to: end)
                let reason: ClientError
                do {
                    let reply = try await self.reply(
                        to: request,
                        within: nil,
                        stillWaiting: stillWaiting
                    )
                    resumption.hasAnswered()
                    guard reply.isPutOff else { return reply }
                    reason = .refused(reply)
                    if !exchange(&isListening, with: true) {
                        group.addTask { await self.listen(after: reply.cursor, bell) }
                    }
                } catch let error as ClientError where error.isBeforeTheRequest {
                    guard resumption.connectionFailed(error, using: &random) != nil else {
                        throw error
                    }
                    reason = error
                }
                guard left > .zero else { throw TimeUp(last: reason) }
                putOff(reason)
                let time = min(pause, max(.zero, clock.now.duration(to: end)))
                let alarm = Task { [clock = clock.quiet] in
                    do { try await clock.sleep(for: time) } catch { return }
                    bell.ring()
                }
                _ = await rings.next()
                alarm.cancel()
                try Task.checkCancellation()
                pause = min(pause * 2, Self.retryPauses.upperBound)
            }
        }
    }

    /// Rings for what happens to the state after that cursor; in a flood of changes no more often than the shortest pause.
    private func listen(after cursor: String?, _ bell: Doorbell) async {
        let pace = Pace(isLatest: true, every: Self.retryPauses.lowerBound)
        do {
            for try await event in self.watch(since: cursor, pace: pace, isPatient: true) {
                guard case .line(let line) = event, line.kind == .state || line.kind == .change
                else { continue }
                bell.ring()
            }
        } catch {
            // The pauses are enough.
        }
    }
}

extension Line {
    /// Whether it refuses a change that may be possible later, though nobody changes the request or the state.
    fileprivate var isPutOff: Bool {
        switch self.error {
        case .denied, .suspended: true
        // Of a change that waited its turn; what the request itself has too many of is refused without the state.
        case .limit: self.state != nil
        default: false
        }
    }
}

extension ClientError {
    /// What has become of a request for a change that was answered with this error.
    private enum Outcome {
        /// It was certainly not sent.
        case unsent
        /// It may have been carried out, though no answer came.
        case unknown
        /// It was refused, or cannot be made at all.
        case settled
    }

    private var outcome: Outcome {
        switch self {
        case .unreachable, .crowded, .notPermitted: .unsent
        case .lost, .silent: .unknown
        case .dismissed(let line):
            switch line.farewell {
            case .limit, .refused: .unsent
            case .restart, .shutdown, .session, nil: .unknown
            case .tooLong: .settled
            }
        case .notFound, .noInstance, .pathTooLong, .timedOut, .malformed, .lineTooLong,
            .lostForGood, .refused:
            .settled
        }
    }

    /// Whether the request has certainly not been sent.
    fileprivate var isBeforeTheRequest: Bool { self.outcome == .unsent }

    /// Whether a request for a change may have been carried out, though no answer came.
    package var mayHaveHappened: Bool { self.outcome == .unknown }
}

extension Line {
    /// Why a `bye` was said; nil for a reason that is not known here.
    fileprivate var farewell: ServerLine.ByeReason? {
        self.reason.flatMap { ServerLine.ByeReason(rawValue: $0) }
    }
}
