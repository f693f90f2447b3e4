import StateMachineClient

/// Takes lines off a watch, one for each credit.
struct LineIntake: Sendable {
    /// How long after a failure the daemon is asked again what declares it.
    private static let pause = Duration.seconds(1)

    let client: Client
    let post: @Sendable (RunnerEvent) -> Void

    /// Follows the machine until the task is cancelled, or trying again cannot help.
    ///
    /// - Parameters:
    ///   - since: where to go on.
    ///   - credits: one for each line that may be taken.
    func run(since: String?, credits: AsyncStream<Void>) async {
        var cursor = since
        var credit = credits.makeAsyncIterator()
        do {
            while true {
                // What was lost because lines were left waiting is still on the disk, if there is one.
                cursor = try await self.follow(since: cursor, &credit)
            }
        } catch is CancellationError {
            return
        } catch {
            self.post(.gaveUp(error))
        }
    }

    /// Returns the cursor to go on from if lines were lost after it.
    private func follow(
        since: String?,
        _ credit: inout AsyncStream<Void>.Iterator
    ) async throws -> String? {
        var cursor = since
        var isConnected = false
        let watch = self.client.watch(since: since, isPatient: true, clock: QuietClock())
        for try await event in watch {
            switch event {
            case .line(let line):
                if line.resync == "lagged", let cursor, cursor != since { return cursor }
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

    /// What declares the daemon's machine.
    private func declaration() async throws -> String? {
        while true {
            do {
                return try await self.client.accepted(.describe).declaration
            } catch is ClientError {
                // The watch stands, or tells that it does not any more.
                try await QuietClock().sleep(for: Self.pause)
            }
        }
    }
}
