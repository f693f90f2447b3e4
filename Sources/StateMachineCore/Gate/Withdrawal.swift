/// How what a task waits for is withdrawn when that is cancelled; which may be before it is known.
///
/// Guarded state, behind `state`: which of the two has come.
final class Withdrawal: Sendable {
    private enum State: Sendable {
        case unknown
        case known(@Sendable () -> Void)
        case withdrawn
    }

    private let state = Lock(State.unknown)

    /// `withdraw` is called once, at once if the task is cancelled already; it may come too late.
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

    /// The task was cancelled.
    func withdraw() {
        switch self.state.withLock({ exchange(&$0, with: .withdrawn) }) {
        case .known(let withdraw): withdraw()
        case .unknown, .withdrawn: break
        }
    }
}
