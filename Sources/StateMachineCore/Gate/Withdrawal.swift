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

    /// Called when the task is cancelled.
    func withdraw() {
        switch self.state.withLock({ exchange(&$0, with: .withdrawn) }) {
        case .known(let withdraw): withdraw()
        case .unknown, .withdrawn: break
        }
    }
}
