/// Everything that happens to the state, in order, over as many connections as it takes.
///
/// Each iteration is a subscription of its own. Once it stands, a lost connection is made again
/// with growing pauses, for ever, and the watch goes on after the last line that was received;
/// what could not be made up for shows as a line with ``Line/resync``.
public struct Watch: AsyncSequence, Sendable {
    /// What the watch gives.
    public enum Event: Hashable, Sendable {
        /// A line of the watch.
        case line(Line)
        /// There is no connection; the next attempt, counted from 1, follows after that pause.
        ///
        /// If the daemon said farewell, the error is ``ClientError/dismissed(_:)`` with its line.
        case interrupted(ClientError, attempt: Int, retryingIn: Duration)
    }

    let client: Client
    let since: String?
    let only: [JSON]
    let isPatient: Bool
    let clock: any Clock<Duration>

    /// Begins a subscription with the first call of `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// One subscription.
    public struct Iterator: AsyncIteratorProtocol {
        private enum Stage {
            case disconnected
            case pausing(Duration)
            case subscribed(Dialogue)
            case ended
        }

        private let watch: Watch
        private var resumption: Resumption
        private var stage = Stage.disconnected
        private var random = SystemRandomNumberGenerator()

        fileprivate init(_ watch: Watch) {
            self.watch = watch
            self.resumption = Resumption(since: watch.since, isPatient: watch.isPatient)
        }

        /// The next event; never nil.
        ///
        /// - Throws: ``ClientError`` where trying again cannot help: the daemon refuses the watch,
        ///   the door may not be opened, or no daemon was there to begin with. `CancellationError`
        ///   if the task is cancelled.
        public mutating func next() async throws -> Event? {
            while true {
                do {
                    switch self.stage {
                    case .ended:
                        return nil
                    case .pausing(let pause):
                        try await self.watch.clock.sleep(for: pause)
                        self.stage = .disconnected
                    case .disconnected:
                        let dialogue = try await self.watch.client.dialogue(isReading: true)
                        try await dialogue.send(
                            .watch(since: self.resumption.cursor, only: self.watch.only)
                        )
                        self.stage = .subscribed(dialogue)
                    case .subscribed(let dialogue):
                        let line = try await dialogue.next()
                        // Only a refusal is a reply here.
                        guard line.kind != .reply else { throw ClientError.refused(line) }
                        self.resumption.lineReceived(line)
                        return .line(line)
                    }
                } catch let error as ClientError {
                    if let event = try self.connectionFailed(error) { return event }
                } catch {
                    self.stage = .ended
                    throw error
                }
            }
        }

        private mutating func connectionFailed(_ error: ClientError) throws -> Event? {
            switch self.resumption.connectionFailed(error, using: &self.random) {
            case .giveUp:
                self.stage = .ended
                throw error
            case .retry(let pause):
                self.stage = .pausing(pause)
                return .interrupted(
                    error,
                    attempt: self.resumption.attempts,
                    retryingIn: pause
                )
            }
        }
    }
}

extension Client {
    /// Everything that happens to the state from now on, or from a cursor on.
    ///
    /// - Parameters:
    ///   - since: the cursor of the last line that was seen; later changes are replayed.
    ///   - only: patterns, strings or objects; none means every state.
    ///   - isPatient: whether to wait for a daemon that is not there to begin with.
    ///   - clock: what the pauses between attempts are measured with.
    /// - Returns: the watch; each iteration over it subscribes anew.
    public func watch(
        since: String? = nil,
        only: [JSON] = [],
        isPatient: Bool = false,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> Watch {
        Watch(client: self, since: since, only: only, isPatient: isPatient, clock: clock)
    }
}
