/// A machine's state and its place in the order, read together; ``Snapshot`` is its typed face.
@usableFromInline
package struct Place: Equatable, Sendable {
    /// The seq of the change that led here; 0 if there was none.
    @usableFromInline package let seq: UInt64
    package let value: Value
    /// Since when.
    package let at: WallTime
    /// The seq of the change that began the stay.
    package let stay: UInt64
    /// How often the stay's deadline has begun anew in this process.
    package let renewals: UInt32

    package init(
        seq: UInt64,
        value: Value,
        at: WallTime,
        stay: UInt64,
        renewals: UInt32 = 0
    ) {
        self.seq = seq
        self.value = value
        self.at = at
        self.stay = stay
        self.renewals = renewals
    }

    /// Whether it is the same place, so that what was evaluated there holds here.
    ///
    /// The seq alone does not say so: others may have made the change of a number that was foreseen here.
    func isSame(as other: Place) -> Bool {
        self.seq == other.seq && self.value === other.value && self.stay == other.stay
            && self.renewals == other.renewals
    }

    /// The same place with a state that looks the same.
    package func replacing(_ value: Value) -> Place {
        Place(
            seq: self.seq,
            value: value,
            at: self.at,
            stay: self.stay,
            renewals: self.renewals
        )
    }

    /// The same place, where the times of the stay have begun anew once more, as that state knows.
    package func renewed(as value: Value) -> Place {
        Place(
            seq: self.seq,
            value: value,
            at: self.at,
            stay: self.stay,
            renewals: self.renewals &+ 1
        )
    }
}

/// Who asked for something, and why; nil where a type has one optionally: the process itself, without a word.
///
/// An object, so that a change, a move and a motion share it by one reference.
package final class Origin: Hashable, Sendable {
    /// Why, in the words of whoever asked for it.
    package let cause: String?
    /// Who asked for it from outside the process; nil for the process itself.
    package let peer: Peer?
    /// The host where it was asked for; nil where there is only one.
    package let host: String?
    /// What is known of the peer where a machine's file says who may do what.
    package let credentials: Credentials
    /// Whether no voter is asked.
    package let isForced: Bool
    /// The labels of the voters who were not asked, where that is so.
    package let passedOver: [String]

    private init(
        _ cause: String?,
        _ peer: Peer?,
        at host: String?,
        _ credentials: Credentials,
        isForced: Bool,
        passingOver labels: [String] = []
    ) {
        self.cause = cause
        self.peer = peer
        self.host = host
        self.credentials = credentials
        self.isForced = isForced
        self.passedOver = labels
    }

    /// Nil if there is nothing to say; `isForced`: no voter is asked.
    package static func of(
        _ peer: Peer?,
        at host: String? = nil,
        because cause: String?,
        as credentials: Credentials = .unknown,
        isForced: Bool = false
    ) -> Origin? {
        guard cause != nil || peer != nil || isForced else { return nil }
        return Origin(cause, peer, at: host, credentials, isForced: isForced)
    }

    /// The same, where those would have been asked.
    func passing(over voters: [VoterMember]) -> Origin {
        Origin(
            self.cause,
            self.peer,
            at: self.host,
            self.credentials,
            isForced: true,
            passingOver: voters.map(\.terms.label)
        )
    }

    package static func == (left: Origin, right: Origin) -> Bool {
        left === right
            || left.cause == right.cause && left.peer == right.peer
                && left.host == right.host && left.isForced == right.isForced
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.cause)
        hasher.combine(self.peer)
    }
}

/// What is known of a peer where a machine's file says who may do what.
package enum Credentials: Sendable {
    /// Root, or the machine's own user: may do everything.
    case privileged
    /// A user with these groups.
    case user(groups: [UInt32])
    /// Nobody has asked the kernel, as the file said nothing of that.
    case unknown
}

/// One change of a machine's state; ``Transition`` is its typed face.
///
/// An object, so that the log, a server's ring, the answer and those who are told share it.
@usableFromInline
package final class Change: Equatable, Sendable {
    @usableFromInline package let seq: UInt64
    @usableFromInline package let old: Value
    @usableFromInline package let new: Value
    package let at: WallTime
    /// Who set it, and why; nil for the process itself, without a word.
    package let origin: Origin?
    /// The seq of the change that began the stay.
    package let stay: UInt64
    /// How often the stay's deadline had begun anew by then, in this process.
    package let renewals: UInt32
    package let kind: Kind

    /// How the machine came there; none but ``made`` is ever a transition.
    package enum Kind: Hashable, Sendable {
        /// By this change.
        case made
        /// Nobody here knows by which changes: `old` is where it was known to be before, and `seq` may be any.
        case arrival
        /// It was there already: others know something else of the times of its stay, which `new` knows, too.
        case renewal
    }

    package init(
        seq: UInt64,
        old: Value,
        new: Value,
        at: WallTime,
        from origin: Origin? = nil,
        stay: UInt64,
        renewals: UInt32 = 0,
        kind: Kind = .made
    ) {
        self.seq = seq
        self.old = old
        self.new = new
        self.at = at
        self.origin = origin
        self.stay = stay
        self.renewals = renewals
        self.kind = kind
    }

    /// The state that a machine began with or is in, as a change from that state to itself.
    convenience init(beginningAt place: Place) {
        self.init(seq: place.seq, old: place.value, new: place.value, at: place.at, stay: place.seq)
    }

    /// Why, in the words of whoever set it.
    package var cause: String? { self.origin?.cause }
    /// How many bytes that has.
    package var causeLength: Int { self.origin?.cause?.utf8.count ?? 0 }
    /// Who set it from outside the process; nil for the process itself.
    package var setter: Peer? { self.origin?.peer }

    /// Where the machine was after it.
    package var place: Place {
        Place(
            seq: self.seq,
            value: self.new,
            at: self.at,
            stay: self.stay,
            renewals: self.renewals
        )
    }

    /// Where the machine was before it: with this change's time, and, if this one begins a stay, the last seq at
    /// which the previous stay can have begun.
    var placeBefore: Place {
        // A change from a state to itself is what a machine begins with.
        let seq = self.seq == 0 ? 0 : self.seq - 1
        return Place(seq: seq, value: self.old, at: self.at, stay: min(self.stay, seq))
    }

    /// Whether it can be adopted there.
    func follows(_ place: Place) -> Bool {
        switch self.kind {
        case .made: self.seq == place.seq + 1
        case .arrival: true
        case .renewal: self.seq == place.seq
        }
    }

    /// Whether the state was entered; false if only what it carries changed.
    package var beginsStay: Bool { self.stay == self.seq }

    @usableFromInline
    package static func == (left: Change, right: Change) -> Bool {
        left === right
            || left.seq == right.seq && left.place == right.place && left.old == right.old
                && left.origin == right.origin
    }
}

/// A state was not entered; ``TransitionError`` is its typed face.
package final class Refused: Error {
    package let reason: Refusal
    /// Where the machine was when it was decided.
    package let current: Place
    /// What was to be entered, if it is the reason.
    package let proposed: Value?
    /// What voters have denied; nil if they have not.
    package let motion: Motion?
    /// What its declaration has against it, in its own words.
    package let error: (any Error)?

    package init(
        _ reason: Refusal,
        current: Place,
        proposed: Value? = nil,
        because error: (any Error)? = nil
    ) {
        self.reason = reason
        self.current = current
        self.proposed = proposed
        self.motion = nil
        self.error = error
    }

    /// Voters have denied it.
    init(_ motion: Motion, deniedBy denials: [Vote.Denial]) {
        self.reason = .denied(by: denials)
        self.current = motion.current
        self.proposed = motion.proposed
        self.motion = motion
        self.error = nil
    }
}

/// What may happen next, as put to voters; ``Proposal`` is its typed face.
package struct Motion: Equatable, Sendable {
    /// Where the machine is; the voter has heard of all that led there.
    package let current: Place
    /// The state that would be entered.
    package let proposed: Value
    /// Whether a new stay would begin; false if only what the state carries would change.
    package let beginsStay: Bool
    /// Who proposed it, and why; nil for the process itself, without a word.
    let origin: Origin?

    init(from current: Place, to proposed: Value, beginsStay: Bool, by origin: Origin?) {
        self.current = current
        self.proposed = proposed
        self.beginsStay = beginsStay
        self.origin = origin
    }

    package init(from current: Place, to proposed: Value, beginsStay: Bool = true) {
        self.init(from: current, to: proposed, beginsStay: beginsStay, by: nil)
    }

    /// One that is proposed at another host.
    package init(
        from current: Place,
        to proposed: Value,
        beginsStay: Bool,
        by peer: Peer?,
        because cause: String?
    ) {
        let origin = Origin.of(peer, because: cause, isForced: false)
        self.init(from: current, to: proposed, beginsStay: beginsStay, by: origin)
    }

    /// Why, in the words of whoever proposed it.
    package var cause: String? { self.origin?.cause }
    /// Who proposed it from outside the process; nil for the process itself.
    package var by: Peer? { self.origin?.peer }
}
