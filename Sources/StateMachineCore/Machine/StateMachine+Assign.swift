import Dispatch

/// Past the voters.
extension StateMachine {
    /// Sets the state without asking a voter, unless that is illegal from here or the machine has
    /// moved on.
    ///
    /// It commits before it returns. On a machine with a write-ahead log it blocks the calling
    /// thread until the log has committed, but waits for no voter: it goes past proposals that wait
    /// for one, and makes an open question stale. So on such a machine it is for threads and queues
    /// that may block; code that may suspend has its own overload, which `await` picks. Where it
    /// would wait for itself, in code that the gate calls or where the log works
    /// (``WriteAheadLog/isCurrent``), it throws ``Refusal/wouldWait``.
    ///
    /// - Parameters:
    ///   - new: the state to enter.
    ///   - seq: if given, the seq that the machine has to be at.
    ///   - reenter: makes a transition even to a state equal to the current one.
    ///   - cause: why, carried by the transition.
    /// - Returns: the transition, or where the machine already was.
    /// - Throws: ``TransitionError``; then nothing has changed.
    @inlinable
    @discardableResult
    public func assign(
        _ new: State,
        ifSeq seq: UInt64? = nil,
        reenter: Bool = false,
        cause: String? = nil
    ) throws(TransitionError<State>) -> Acceptance {
        let move = Move(to: new, if: .init(seq: seq), reenter: reenter, cause: cause)
        guard self.options.log == nil else { return try self.assignThroughLog(move) }
        return try self.enter(move)
    }

    /// The setter of `state`, which cannot throw.
    @inlinable
    func assignOrTrap(_ new: State) {
        guard self.options.log == nil else {
            self.assignThroughLogOrTrap(new)
            return
        }
        do {
            _ = try self.enter(Move(to: new))
        } catch {
            Self.trap(new, error)
        }
    }

    @usableFromInline
    func assignThroughLog(_ move: Move<State>) throws(TransitionError<State>) -> Acceptance {
        guard
            self.options.log?.isCurrent != true,
            !self.holder.withLock({ $0.gate.isPumpedHere })
        else { throw TransitionError(.wouldWait, current: self.snapshot) }
        let mailbox = Mailbox<Gate<State>.Answer>()
        self.enqueue(PendingProposal(move, asking: nil, completion: .answer { mailbox.put($0) }))
        return try mailbox.wait().get()
    }

    @usableFromInline
    func assignThroughLogOrTrap(_ new: State) {
        let move = Move(to: new)
        do {
            _ = try self.assignThroughLog(move)
        } catch {
            guard error.reason == .wouldWait else { return self.trapOrReport(new, error) }
            self.enqueue(
                PendingProposal(
                    move,
                    asking: nil,
                    completion: .answer { answer in
                        if case .failure(let error) = answer { self.trapOrReport(new, error) }
                    }
                )
            )
        }
    }

    /// Only what its programmer could have known ends the process: not a full disk, nor many setters.
    func trapOrReport(_ new: State, _ error: TransitionError<State>) {
        switch error.reason {
        case .illegal, .conflict, .denied, .stale, .wouldWait, .withdrawn: Self.trap(new, error)
        case .notCommitted, .overloaded: self.options.unassigned?(new, error)
        }
    }

    @usableFromInline
    static func trap(_ new: State, _ error: TransitionError<State>) -> Never {
        preconditionFailure("\(new) was assigned to a machine that refuses it: \(error)")
    }
}

/// One value, put by one thread and waited for by another.
private final class Mailbox<Value: Sendable>: Sendable {
    private let value = Lock<Value?>(nil)
    private let hasArrived = DispatchSemaphore(value: 0)

    func put(_ value: Value) {
        self.value.withLock { $0 = value }
        self.hasArrived.signal()
    }

    func wait() -> Value {
        while true {
            if let value = self.value.withLock({ $0 }) { return value }
            self.hasArrived.wait()
        }
    }
}
