/// One change of a machine's state, as it happened.
///
/// A value: it says what this change was, even if the machine has moved on since.
public struct Transition<State: MachineState>: Equatable, Sendable {
    /// Its place in the total order: 1, 2, 3 … without a gap.
    public let seq: UInt64
    /// When it was committed.
    public let at: WallTime
    /// Why, in the words of whoever set it.
    public let cause: String?
    /// Who set it from outside the process; nil for the process itself.
    ///
    /// The peer's program is known while the change is delivered and written down, and until some
    /// thousands of other programs have set something.
    public var by: Peer? { self.setter?.peer }
    @usableFromInline package let setter: CompactPeer?
    /// The seq of the transition that began the stay in the state: its own, unless it only changed what the
    /// state carries.
    public let stay: UInt64
    // Fields whose size does not depend on the state come first, so that generic code finds them
    // without asking for a layout.
    /// The state that was left.
    public let old: State
    /// The state that was entered.
    public let new: State

    /// A change that was recorded before; one that began a stay if `stay` is nil.
    @inlinable
    public init(
        seq: UInt64,
        old: State,
        new: State,
        at: WallTime,
        cause: String? = nil,
        by: Peer? = nil,
        stay: UInt64? = nil
    ) {
        self.init(
            seq: seq,
            old: old,
            new: new,
            at: at,
            cause: cause,
            setter: by.map { CompactPeer($0) },
            stay: stay ?? seq
        )
    }

    @inlinable
    package init(
        seq: UInt64,
        old: State,
        new: State,
        at: WallTime,
        cause: String?,
        setter: CompactPeer?,
        stay: UInt64
    ) {
        self.seq = seq
        self.old = old
        self.new = new
        self.at = at
        self.cause = cause
        self.setter = setter
        self.stay = stay
    }

    /// Where the machine was after it.
    @inlinable public var snapshot: Snapshot<State> {
        Snapshot(seq: self.seq, state: self.new, at: self.at, stay: self.stay)
    }
}

/// A machine's state and its place in the order, read together.
public struct Snapshot<State: MachineState>: Equatable, Sendable {
    /// The seq of the transition that led here; 0 if there was none.
    public let seq: UInt64
    /// The state.
    public let state: State
    /// Since when: the transition's time, or the machine's beginning.
    public let at: WallTime
    /// The seq of the transition that began the stay in the state; ``seq`` unless later ones changed
    /// what the state carries.
    public let stay: UInt64

    /// A place in the order that was recorded before; the beginning of a stay if `stay` is nil.
    @inlinable
    public init(seq: UInt64, state: State, at: WallTime, stay: UInt64? = nil) {
        self.seq = seq
        self.state = state
        self.at = at
        self.stay = stay ?? seq
    }
}

/// A transition's place in the order and its time: all of it but the states.
@usableFromInline
package struct TransitionMark: Hashable, Sendable {
    @usableFromInline package let seq: UInt64
    @usableFromInline package let at: WallTime
    @usableFromInline package let stay: UInt64

    @inlinable
    init(seq: UInt64, at: WallTime, stay: UInt64) {
        self.seq = seq
        self.at = at
        self.stay = stay
    }
}

extension Transition {
    @inlinable package var mark: TransitionMark {
        TransitionMark(seq: self.seq, at: self.at, stay: self.stay)
    }
}

extension Transition: Hashable where State: Hashable {}
extension Snapshot: Hashable where State: Hashable {}

extension Transition: Codable where State: Codable {
    private enum CodingKeys: String, CodingKey {
        case seq, old, new, at, cause
        case setter = "by"
        case stay
    }
}

extension Snapshot: Codable where State: Codable {}

/// A process on the other end of a local socket, as the kernel knows it.
public struct Peer: Hashable, Sendable, Codable {
    /// The user that it runs as; may be trusted.
    public let uid: UInt32
    /// The process; for people to look at, never to be trusted, since numbers are reused.
    public let pid: Int32
    /// The program that runs in it; nil if not known.
    package let program: Program?

    /// The process's own name, never to be trusted; nil if not known.
    public var comm: String? { self.program?.comm }

    /// The systemd unit that it runs in; nil if it runs in none, or that is not known.
    ///
    /// A user's unit has the user's manager before it, as in `user@1000.service/deploy.service`.
    public var unit: String? { self.program?.unit }

    /// A peer of that user, process and program.
    package init(uid: UInt32, pid: Int32, comm: String? = nil, unit: String? = nil) {
        let isKnown = comm != nil || unit != nil
        self.init(
            uid: uid,
            pid: pid,
            program: isKnown ? Program(comm: comm, unit: unit) : nil
        )
    }

    package init(uid: UInt32, pid: Int32, program: Program?) {
        self.uid = uid
        self.pid = pid
        self.program = program
    }
}
