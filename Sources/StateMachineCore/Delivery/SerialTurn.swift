import Synchronization

/// Runs one turn at a time on a context for something that is not in a machine's log.
///
/// Guarded state: `isScheduled` is set while a turn is running or requested; `callGuard` is taken
/// for every turn, so that none begins after ``close()``.
final class SerialTurn: Sendable {
    private let context: any ExecutionContext
    private let isScheduled = Atomic<Bool>(false)
    private let isAsked = Atomic<Bool>(false)
    private let callGuard = CallGuard()
    private let turn: @Sendable () -> Void
    private let refused: @Sendable () -> Void
    private let letGo: @Sendable () -> Void
    private let hasLetGo = Atomic<Bool>(false)

    /// - Parameters:
    ///   - context: where the turns run.
    ///   - refused: called for each turn that the context refuses, since it has ended.
    ///   - letGo: called once it is closed, when no turn runs and none will begin.
    ///   - turn: what to do in each.
    init(
        on context: any ExecutionContext,
        refused: @escaping @Sendable () -> Void,
        letGo: @escaping @Sendable () -> Void,
        turn: @escaping @Sendable () -> Void
    ) {
        self.context = context
        self.refused = refused
        self.letGo = letGo
        self.turn = turn
    }

    /// No turn begins after this returns.
    func close() { self.close {} }

    /// As ``close()``; `quiet` is called when no turn is running either.
    func close(quiet: @escaping @Sendable () -> Void) {
        self.callGuard.cancel {
            if !self.hasLetGo.exchange(true, ordering: .sequentiallyConsistent) { self.letGo() }
            quiet()
        }
    }

    var isClosed: Bool { self.callGuard.isCancelled }

    func ask() {
        self.isAsked.store(true, ordering: .sequentiallyConsistent)
        guard
            !self.isClosed,
            !self.isScheduled.exchange(true, ordering: .sequentiallyConsistent)
        else { return }
        // A context that has ended is asked again each time, and reports it each time.
        if !self.context.takes({ self.run() }) {
            self.isScheduled.store(false, ordering: .sequentiallyConsistent)
            self.refused()
        }
    }

    private func run() {
        repeat {
            while self.isAsked.exchange(false, ordering: .sequentiallyConsistent) {
                _ = self.callGuard.run {
                    self.turn()
                    return true
                }
            }
            self.isScheduled.store(false, ordering: .sequentiallyConsistent)
        } while self.isAsked.load(ordering: .sequentiallyConsistent)
            && !self.isScheduled.exchange(true, ordering: .sequentiallyConsistent)
    }
}
