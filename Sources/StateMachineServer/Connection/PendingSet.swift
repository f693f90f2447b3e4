import StateMachineCore
import StateMachineProtocol
import Synchronization

/// A `set`, a `send` or an `update` that has not been decided: voters are being asked, others are before it, or it is
/// on its way to the disk.
///
/// Its identity is what counts: one that is no longer listed has been answered. Guarded state:
/// `phase` is atomic, since the machine asks at the proposal's turn, on whatever thread.
///
/// `@unchecked Sendable`: for that; `owner`, `isOrdered` and `isCounted` are touched on the loop only, and `made` is
/// written at the proposal's turn and read when it is answered, which is later.
final class PendingSet: @unchecked Sendable {
    let call: ChangeCall
    let operation: StateMachineProtocol.Operation
    /// The request's.
    let id: RequestID?
    /// Why, carried by the change.
    let cause: String?
    /// Who asks; nil if it leads to a move of the machine's own.
    let setter: Peer?
    /// Whether it is answered in the order of the requests; one that votes may hold up is not.
    var isOrdered = true

    private let owner: Sets
    private let phase = Atomic<Phase>(.waiting)
    /// Whether it counts as undecided; on the loop only.
    var isCounted = true

    private enum Phase: UInt8, AtomicRepresentable {
        /// Its turn has not come.
        case waiting
        /// Its turn has come: it is decided, or others are asked about it.
        case evaluated
        /// It must not happen any more.
        case withdrawn
    }

    /// What it came to at its turn.
    enum Found: Sendable {
        /// That state, which is encoded already.
        case state(Value)
        /// Nothing changes; whether the deadline begins anew.
        case handled(renewing: Bool)
        /// The state does not ask for it.
        case unhandled
        /// What is in force by now does not take it.
        case rejected(WireError)
        /// It may not follow the state that it found.
        case illegal
    }

    /// What it comes to where the machine stands at its turn.
    enum Making: Sendable {
        /// That state, which is by far the most common case and has to cost nothing; it is made anew only if another file is in force
        /// by then.
        case set(Value)
        case made(@Sendable (Place) throws(WireError) -> Found)
    }

    private let states: any Schema
    private let making: Making
    /// The state that it leads to wherever the machine stands then; nil if that has to be made there.
    let plain: Value?
    /// What was made where it was evaluated last; nil: it was as it was asked for.
    private var made: Found?

    init(
        _ operation: StateMachineProtocol.Operation,
        _ call: ChangeCall,
        _ making: Making,
        _ states: any Schema,
        id: RequestID?,
        cause: String?,
        by setter: Peer?,
        of owner: Sets
    ) {
        self.operation = operation
        self.call = call
        self.making = making
        self.states = states
        self.id = id
        self.cause = cause
        self.setter = setter
        self.owner = owner
        switch making {
        case .set(let value) where !states.hasStays: self.plain = value
        case .set, .made: self.plain = nil
        }
    }

    /// The state that was asked for, if one was.
    var asked: Value? {
        switch self.making {
        case .set(let value): value
        case .made: nil
        }
    }

    /// What it does to the machine if the state is as expected.
    var kind: MoveKind {
        switch self.operation {
        case .update: .update
        case .set where !self.call.reenter: .set
        default: .enter
        }
    }

    /// Whether it was answered before its turn, and must not happen any more.
    var isWithdrawn: Bool { self.phase.load(ordering: .sequentiallyConsistent) == .withdrawn }

    func withdraw() { self.phase.store(.withdrawn, ordering: .sequentiallyConsistent) }

    /// Withdraws it if its turn has not come; returns whether that is so.
    func withdrawIfWaiting() -> Bool {
        self.move(to: .withdrawn)
    }

    /// Its turn has come; returns whether it still may happen.
    func turnCame() -> Bool { self.move(to: .evaluated) || !self.isWithdrawn }

    private func move(to phase: Phase) -> Bool {
        self.phase.compareExchange(
            expected: .waiting,
            desired: phase,
            ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// Answers, on the loop.
    func answer(_ answer: Move.Answer) { self.owner.decided(self, answer) }

    // MARK: - What it comes to

    /// What it came to where it was evaluated last.
    var found: Found {
        switch (self.made, self.making) {
        case (let made?, _): made
        case (nil, .set(let value)): .state(value)
        case (nil, .made): .unhandled
        }
    }

    /// Whether it is to happen where the machine stands then.
    func isExpected(_ place: Place) -> Bool {
        guard self.turnCame() else { return false }
        return self.states.matches(self.call, place)
    }

    /// The state that it leads to from there; nil if nothing is to change.
    func state(from place: Place) -> Value? {
        let found: Found
        do {
            switch self.making {
            case .set(let value):
                if place.mayBecome(value) {
                    if self.made != nil { self.made = nil }
                    return value
                }
                found = try self.states.made(of: value, from: place)
            case .made(let make): found = try make(place)
            }
        } catch {
            found = .rejected(error)
        }
        self.made = found
        guard case .state(let value) = found else { return nil }
        return value
    }
}

extension Place {
    /// Whether a client may set that state here: a state may always be set again from itself, and then changes
    /// nothing.
    fileprivate func mayBecome(_ next: Value) -> Bool {
        self.value.equals(next) || self.value.mayBecome(next)
    }
}

extension Schema {
    /// What a state that was asked for comes to, which may have been read by another file than is in force.
    func made(
        of value: Value,
        from place: Place
    ) throws(WireError) -> PendingSet.Found {
        var value = value
        if let state = try self.restated(value, in: place.value) {
            value = try self.checked(state)
        }
        return place.mayBecome(value) ? .state(value) : .illegal
    }

    /// What an event comes to; `willRenew` is called if the deadline is to begin anew.
    func made(
        ofEvent call: ChangeCall,
        from place: Place,
        renewing willRenew: (Place) -> Void
    ) throws(WireError) -> PendingSet.Found {
        let data = call.data?.members ?? []
        switch try self.reaction(to: call.name, data: data, in: place.value) {
        case .enter(let next): return .state(try self.checked(next))
        case .stay:
            willRenew(place)
            return .handled(renewing: true)
        case .ignore: return .handled(renewing: false)
        case .unhandled: return .unhandled
        }
    }

    /// What an update comes to.
    func made(ofUpdate call: ChangeCall, from place: Place) throws(WireError) -> PendingSet.Found {
        let value = place.value
        let given = FieldWords(
            values: call.data?.members ?? [],
            words: call.words,
            amounts: call.add
        )
        let data = try given.members(
            typedBy: self.fields(of: value),
            of: value.name,
            isUpdate: true
        )
        return .state(try self.checked(self.updated(value, with: data, adding: call.add)))
    }

    /// The state as it is shown, if that is not too long.
    func checked(_ value: Value) throws(WireError) -> Value {
        _ = self.encoded(value)
        try value.checkLength()
        return value
    }
}
