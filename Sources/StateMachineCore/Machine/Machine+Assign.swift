import Dispatch

/// Past the voters; a thread that assigns waits for the log and for nobody else.
extension Machine {
    /// Enters the move's state without asking a voter; see ``StateMachine/assign(_:ifSeq:reenter:cause:)``.
    func assign(_ move: Move) -> Move.Answer {
        if let answer = self.enterAtOnce(move, asking: .past) { return answer }
        guard
            self.options.log?.isCurrent != true,
            !self.holder.withLock({ $0.gate.isPumpedHere })
        else { return .failure(Refused(.wouldWait, current: self.place)) }
        let mailbox = Mailbox<Move.Answer>()
        self.propose(move, asking: nil) { mailbox.put($0) }
        return mailbox.wait()
    }

    /// The setter of a state, which cannot throw.
    @usableFromInline
    func assignOrTrap(_ new: Value) {
        let move = Move(to: new)
        guard case .failure(let refused) = self.assign(move) else { return }
        guard refused.reason == .wouldWait else { return self.trapOrReport(new, refused) }
        self.propose(move, asking: nil) { answer in
            if case .failure(let refused) = answer { self.trapOrReport(new, refused) }
        }
    }

    /// Only what its programmer could have known ends the process: not a full disk, nor many setters.
    func trapOrReport(_ new: Value, _ refused: Refused) {
        switch refused.reason {
        case .illegal, .conflict, .denied, .stale, .wouldWait, .withdrawn:
            preconditionFailure(
                "\(new.text) was assigned to a machine that refuses it: \(refused)"
            )
        case .notCommitted, .overloaded: self.options.unassigned?(new, refused)
        }
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
