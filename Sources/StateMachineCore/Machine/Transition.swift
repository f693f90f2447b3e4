/// One change of a machine's state, as it happened.
///
/// A value: it says what this change was, even if the machine has moved on since.
public struct Transition<State: MachineState>: Equatable, Sendable {
    /// The same, as the engine has it.
    @usableFromInline package let change: Change

    @inlinable package init(_ change: Change) { self.change = change }

    /// Its place in the total order: 1, 2, 3 … without a gap.
    @inlinable public var seq: UInt64 { self.change.seq }
    /// When it was committed.
    public var at: WallTime { self.change.at }
    /// Why, in the words of whoever set it.
    public var cause: String? { self.change.cause }
    /// Who set it from outside the process; nil for the process itself.
    ///
    /// The peer's program is known while the change is delivered and written down, and until some
    /// thousands of other programs have set something.
    public var by: Peer? { self.change.setter }
    /// The seq of the transition that began the stay in the state: its own, unless it only changed what the
    /// state carries.
    public var stay: UInt64 { self.change.stay }
    /// The state that was left.
    @inlinable public var old: State { TypedValue<State>.state(of: self.change.old) }
    /// The state that was entered.
    @inlinable public var new: State { TypedValue<State>.state(of: self.change.new) }

    /// A change that was recorded before; one that began a stay if `stay` is nil.
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
            Change(
                seq: seq,
                old: TypedValue(old),
                new: TypedValue(new),
                at: at,
                from: .of(by, because: cause),
                stay: stay ?? seq
            )
        )
    }

    /// Where the machine was after it.
    public var snapshot: Snapshot<State> { Snapshot(self.change.place) }
}

/// A machine's state and its place in the order, read together.
public struct Snapshot<State: MachineState>: Equatable, Sendable {
    /// The same, as the engine has it.
    @usableFromInline package let place: Place

    @inlinable package init(_ place: Place) { self.place = place }

    /// The seq of the transition that led here; 0 if there was none.
    public var seq: UInt64 { self.place.seq }
    /// The state.
    public var state: State { TypedValue<State>.state(of: self.place.value) }
    /// Since when: the transition's time, or the machine's beginning.
    public var at: WallTime { self.place.at }
    /// The seq of the transition that began the stay in the state; ``seq`` unless later ones changed
    /// what the state carries.
    public var stay: UInt64 { self.place.stay }

    /// A place in the order that was recorded before; the beginning of a stay if `stay` is nil.
    public init(seq: UInt64, state: State, at: WallTime, stay: UInt64? = nil) {
        self.init(Place(seq: seq, value: TypedValue(state), at: at, stay: stay ?? seq))
    }
}

extension Transition: Hashable where State: Hashable {
    /// Hashes what makes two of them equal.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.seq)
        hasher.combine(self.at)
        hasher.combine(self.cause)
        hasher.combine(self.old)
        hasher.combine(self.new)
    }
}

extension Snapshot: Hashable where State: Hashable {
    /// Hashes what makes two of them equal.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.seq)
        hasher.combine(self.at)
        hasher.combine(self.state)
    }
}

extension Transition: Codable where State: Codable {
    private enum CodingKeys: String, CodingKey {
        case seq, old, new, at, cause, by, stay
    }

    /// Reads what ``encode(to:)`` has written.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            seq: try values.decode(UInt64.self, forKey: .seq),
            old: try values.decode(State.self, forKey: .old),
            new: try values.decode(State.self, forKey: .new),
            at: try values.decode(WallTime.self, forKey: .at),
            cause: try values.decodeIfPresent(String.self, forKey: .cause),
            by: try values.decodeIfPresent(Peer.self, forKey: .by),
            stay: try values.decode(UInt64.self, forKey: .stay)
        )
    }

    /// Writes everything.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(self.seq, forKey: .seq)
        try values.encode(self.old, forKey: .old)
        try values.encode(self.new, forKey: .new)
        try values.encode(self.at, forKey: .at)
        try values.encodeIfPresent(self.cause, forKey: .cause)
        try values.encodeIfPresent(self.by, forKey: .by)
        try values.encode(self.stay, forKey: .stay)
    }
}

extension Snapshot: Codable where State: Codable {
    private enum CodingKeys: String, CodingKey {
        case seq, state, at, stay
    }

    /// Reads what ``encode(to:)`` has written.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            seq: try values.decode(UInt64.self, forKey: .seq),
            state: try values.decode(State.self, forKey: .state),
            at: try values.decode(WallTime.self, forKey: .at),
            stay: try values.decode(UInt64.self, forKey: .stay)
        )
    }

    /// Writes everything.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(self.seq, forKey: .seq)
        try values.encode(self.state, forKey: .state)
        try values.encode(self.at, forKey: .at)
        try values.encode(self.stay, forKey: .stay)
    }
}

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
        self.init(uid: uid, pid: pid, program: isKnown ? Program(comm: comm, unit: unit) : nil)
    }

    package init(uid: UInt32, pid: Int32, program: Program?) {
        self.uid = uid
        self.pid = pid
        self.program = program
    }
}
