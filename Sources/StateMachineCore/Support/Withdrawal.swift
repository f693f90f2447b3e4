/// Withdraws what a task waits for when the task is cancelled, which may be before that is known.
///
/// Guarded state, behind `state`: which of the two came first.
final class Withdrawal: Sendable {
    private enum State: Sendable {
        case unknown
        case known(@Sendable () -> Void)
        case withdrawn
    }

    private let state = Lock(State.unknown)

    private init() {}

    /// Waits, without a thread, for what `begin` has its continuation resumed with, also if the task
    /// is cancelled.
    static func awaited<Answer: Sendable>(
        _ begin: (CheckedContinuation<Answer, Never>, Withdrawal) -> Void
    ) async -> Answer {
        let withdrawal = Withdrawal()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { begin($0, withdrawal) }
        } onCancel: {
            withdrawal.withdraw()
        }
    }

    /// Sets what to do on cancellation: `withdraw` is called once, at once if the task is cancelled
    /// already; it may come too late.
    func has(_ withdraw: @escaping @Sendable () -> Void) {
        let isWithdrawn = self.state.withLock { state in
            switch state {
            case .unknown, .known:
                state = .known(withdraw)
                return false
            case .withdrawn: return true
            }
        }
        if isWithdrawn { withdraw() }
    }

    private func withdraw() {
        switch self.state.withLock({ exchange(&$0, with: .withdrawn) }) {
        case .known(let withdraw): withdraw()
        case .unknown, .withdrawn: break
        }
    }
}
