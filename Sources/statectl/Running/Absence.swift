import StateMachineClient

/// A wait, under a hold, until the state is none of some states.
struct Absence: Sendable {
    /// How often to check whether a lost hold is there again.
    ///
    /// 100 ms: taking it anew begins with such a pause. Not tuned.
    private static let pause = Duration.milliseconds(100)

    let client: Client
    /// The patterns that the state must not match.
    let patterns: [Pattern]
    /// How long to wait; nil means for ever.
    var limit: Duration?

    /// Returns when the state is none of them, at a moment when the hold was in force.
    ///
    /// - Throws: ``Refusal`` when the time is up, ``ClientError``, or `CancellationError`.
    func wait(isHeld: @escaping @Sendable () -> Bool) async throws {
        guard let limit else { return try await self.waitForEver(isHeld) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.waitForEver(isHeld) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw Refusal(
                    sentence:
                        "the state was one of these all the time that was given; nothing is run",
                    status: .timeout
                )
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func waitForEver(_ isHeld: @Sendable () -> Bool) async throws {
        for try await event in self.client.watch(pace: Pace(isLatest: true)) {
            guard case .line = event else { continue }
            while try await self.isSo() {
                // Asked again with the hold in force: a state that was let in without it shows now.
                guard isHeld(), try await self.isSo() else {
                    try await Task.sleep(for: Self.pause)
                    continue
                }
                if isHeld() { return }
            }
        }
    }

    /// Whether the state matches none of them now; false if nobody can be asked.
    private func isSo() async throws -> Bool {
        let reply: Line
        do {
            reply = try await self.client.reply(to: .wait(until: self.patterns, timeout: .zero))
        } catch is ClientError {
            // The watch goes on when the daemon is there again.
            return false
        }
        if reply.error == .timeout { return true }
        guard reply.isOK == true else { throw ClientError.refused(reply) }
        return false
    }
}
