import StateMachineClient
import StateMachineCore

/// What the state has to be, under a hold, before a command is run.
struct HoldCondition: Sendable {
    /// How often to check whether a lost hold is there again.
    ///
    /// 100 ms: taking it again begins with such a pause. Not tuned.
    private static let pause = Duration.milliseconds(100)

    let client: Client
    /// The patterns that the state must match, if there are any.
    var when: [Pattern] = []
    /// The patterns that it must not match.
    var whenNot: [Pattern] = []

    /// What `wait` waits for.
    private var patterns: [Pattern] { self.when + self.whenNot.map(!) }

    /// The condition in words: `idle or ready, and not busy`.
    var text: String {
        let no = self.whenNot.map { "not \($0.text)" }.joined(separator: " and ")
        return [self.when.map(\.text).joined(separator: " or "), no].filter { !$0.isEmpty }
            .joined(separator: ", and ").printable
    }

    /// Why the command is not run.
    static let timeUp = Refusal(
        sentence:
            "the state did not match in time; the command is not run",
        status: .timeout
    )

    /// Returns when the state is as it has to be, at a moment when the hold was in force.
    ///
    /// The state is looked at once however little time there is.
    ///
    /// - Throws: ``timeUp``, ``ClientError``, or `CancellationError`.
    func wait(
        until end: ContinuousClock.Instant?,
        report: (String) -> Void,
        isHeld: () -> Bool
    ) async throws {
        var isFirst = true
        while true {
            if isHeld(), try await self.isMet(), isHeld() { return }
            let left = end.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
            guard left != .zero else { throw Self.timeUp }
            if exchange(&isFirst, with: false) { report("waiting until it is \(self.text)") }
            do {
                let reply = try await self.client.wait(
                    until: self.patterns,
                    timeout: left,
                    isPatient: true
                )
                guard reply.error != .timeout else { throw Self.timeUp }
                guard reply.isOK == true else { throw ClientError.refused(reply) }
            } catch ClientError.lostForGood {
                // Whoever keeps the hold says that the daemon is gone, and tries for ever.
            } catch ClientError.timedOut {
                throw Self.timeUp
            }
            if !isHeld() { try await QuietClock().sleep(for: Self.pause) }
        }
    }

    /// Whether the state is so now; false if nobody can be asked.
    private func isMet() async throws -> Bool {
        let reply: Line
        do {
            reply = try await self.client.reply(to: .wait(until: self.patterns, timeout: .zero))
        } catch is ClientError {
            return false
        }
        guard reply.isOK == true || reply.error == .timeout else {
            throw ClientError.refused(reply)
        }
        return reply.isOK == true
    }
}
