/// The first of several answers, and the alarm that would give another.
///
/// Guarded state, behind `pending`: the continuation and the alarm, until the answer has been
/// given.
final class Once<Value: Sendable>: Sendable {
    private struct Pending: Sendable {
        var continuation: CheckedContinuation<Value, Never>?
        var alarm: Alarm?
    }

    private let pending: Lock<Pending>

    init(_ continuation: CheckedContinuation<Value, Never>) {
        self.pending = Lock(Pending(continuation: continuation))
    }

    func keep(_ alarm: Alarm) {
        self.pending.withLock { pending in
            if pending.continuation != nil { pending.alarm = alarm }
        }
    }

    func give(_ value: Value) {
        let given = self.pending.withLock { pending in
            let given = pending
            pending = Pending()
            return given
        }
        given.alarm?.stop()
        given.continuation?.resume(returning: value)
    }
}
