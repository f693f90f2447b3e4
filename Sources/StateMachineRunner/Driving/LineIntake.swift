import StateMachineClient
import StateMachineCore

/// Takes lines off a watch, one for each credit.
struct LineIntake: Sendable {
    /// How long after a failure the daemon is asked again for its declaration.
    private static let pause = Duration.seconds(1)

    let client: Client
    let post: @Sendable (RunnerEvent) -> Void

    /// Follows the machine until the task is cancelled, or trying again cannot help.
    ///
    /// - Parameters:
    ///   - since: where to go on.
    ///   - stay: the beginning of the present stay: a loss of power may have taken the updates after it.
    ///   - credits: one for each line that may be taken.
    func run(since: String?, stay: String?, credits: AsyncStream<Void>) async {
        var cursor = since
        var stay = stay
        var credit = credits.makeAsyncIterator()
        do {
            while true {
                // Lines that were dropped while they waited are still on the daemon's disk, if it
                // has one.
                cursor = try await self.follow(since: cursor, else: stay, &credit)
                stay = nil
            }
        } catch is CancellationError {
            return
        } catch {
            self.post(.gaveUp(error))
        }
    }

    /// Follows one watch; returns the cursor to go on from if lines were lost after it, or if the daemon knows only the
    /// other one that was given.
    private func follow(
        since: String?,
        else stay: String?,
        _ credit: inout AsyncStream<Void>.Iterator
    ) async throws -> String? {
        var cursor = since
        var isConnected = false
        let watch = self.client.watch(since: since, isPatient: true, clock: QuietClock())
        for try await event in watch {
            switch event {
            case .line(let line):
                if line.resync == "lagged", let cursor, cursor != since { return cursor }
                if line.resync == "restarted", cursor == since, let stay, stay != since {
                    return stay
                }
                if !isConnected {
                    self.post(.connected(declaration: try await self.declaration()))
                    isConnected = true
                }
                cursor = line.cursor ?? cursor
                self.post(.line(line))
                guard await credit.next() != nil else { throw CancellationError() }
            case .interrupted(let error, let attempt, _):
                isConnected = false
                self.post(.disconnected(error, attempt: attempt))
            case .reached: break
            }
        }
        throw CancellationError()
    }

    /// The hash of the daemon's declaration; nil if no file declares its machine.
    private func declaration() async throws -> String? {
        while true {
            do {
                return try await self.client.accepted(.describe).declaration
            } catch is ClientError {
                // The watch is still connected, or reports that it is not.
                try await QuietClock().sleep(for: Self.pause)
            }
        }
    }
}
