/// One context's calls, in order, one at a time.
///
/// Guarded state, behind `calls`: the calls to make, the members that have missed something since
/// the last turn, and whether a drain is under way. Nothing is called under that lock.
final class CallLane: Sendable {
    /// One call to several delegates on one context.
    struct Call: Sendable {
        let members: [Recipient]
        /// `mayCall` is false if no member may be called any more and only those who wait are to be
        /// told.
        let turn: @Sendable (_ members: [Recipient], _ mayCall: Bool) -> Void

        func make(mayCall: Bool) { self.turn(self.members, mayCall) }
    }

    private struct Calls: Sendable {
        var waiting: BoundedBuffer<Call>
        var late: [Recipient] = []
        var isScheduled = false
    }

    let identity: ObjectIdentifier
    /// Whether the thread that wakes the lane makes the calls.
    var isInline: Bool { self.context is any InlineRunning }

    private let context: any ExecutionContext
    private let calls: Lock<Calls>

    /// At most `limit` calls wait; beyond that the oldest is dropped.
    init(on context: any ExecutionContext, identity: ObjectIdentifier, limit: Int) {
        self.context = context
        self.identity = identity
        self.calls = Lock(Calls(waiting: BoundedBuffer(capacity: limit)))
    }

    /// Under the lock that orders the calls.
    ///
    /// - Returns: the call that was dropped for this one; tell it so, under no lock.
    func append(_ call: Call) -> Call? {
        self.calls.withLock { calls in
            guard let missed = calls.waiting.append(call) else { return nil }
            for recipient in missed.members where recipient.misses() {
                calls.late.append(recipient)
            }
            return missed
        }
    }

    /// Under no lock.
    func wake() {
        let isOurs = self.calls.withLock { calls in
            // Another thread's drain may have taken what this one appended.
            guard !calls.isScheduled, !calls.waiting.isEmpty else { return false }
            calls.isScheduled = true
            return true
        }
        guard isOurs else { return }
        // A context that has ended gets no calls, and nobody waits for it either.
        if !self.context.takes({ self.drain(mayCall: true) }) { self.drain(mayCall: false) }
    }

    private func drain(mayCall: Bool) {
        while true {
            let (late, call) = self.calls.withLock { calls -> ([Recipient], Call?) in
                let late = exchange(&calls.late, with: [])
                let call = calls.waiting.popFirst()
                if call == nil { calls.isScheduled = false }
                return (late, call)
            }
            for recipient in late where mayCall { recipient.hearMissed() }
            guard let call else { return }
            call.make(mayCall: mayCall)
        }
    }
}
