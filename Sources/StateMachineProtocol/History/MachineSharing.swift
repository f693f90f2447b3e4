package import StateMachineCore

/// A machine that several hosts share, as the server of one of them sees it.
///
/// Everything may be called from any thread.
package protocol MachineSharing: AnyObject, Sendable {
    /// Has the machine, whose log this is, adopt where it is and what others make of it, from now on; called once, by whoever
    /// already hears what happens to the machine.
    ///
    /// - Parameters:
    ///   - machine: the one that is moved.
    ///   - session: what the last process has left; nil: nothing.
    func begin(moving machine: Machine, continuing session: SharedSession?)

    /// Where this host was when its last run ended, and the machine goes on until it is known where it is; nil if that is not known.
    var place: Place? { get }

    /// What can be read of the machine's past.
    var past: any PastStore { get }

    /// The name that the machine has for all of its hosts.
    var machineName: String { get }

    /// The name of this host.
    var host: String { get }

    /// How long ago a quorum was asked that last said where the machine is, in milliseconds, or more, if that was in the last run;
    /// nil if none ever has.
    var ageMs: Int64? { get }

    /// The numbering that the machine is in from the oldest arrival on that was not taken; whoever follows the machine takes one with
    /// each.
    func takeArrival() -> Epoch?

    /// Asks a quorum whether the machine is where it is here, from now on.
    ///
    /// - Parameter done: called once, from anywhere; nil, or why it may be elsewhere.
    func confirm(_ done: @escaping @Sendable (SharingTrouble?) -> Void)

    /// Asks the engine which hosts share the machine; called once, from anywhere.
    func hosts(_ done: @escaping @Sendable (SharingHosts) -> Void)

    /// How many of the hosts that have a session come before this one, by their names: so many wait less for a time that has come.
    var rank: Int { get }

    /// What has been counted since the start.
    var counts: SharingCounts { get }

    /// The holds and guards of other hosts, and those of this one that outlive its session.
    var foreignVoters: [ForeignVoter] { get }

    /// Whether what connections hold at this host is certainly in force at this moment, for the other hosts too.
    var isSessionSure: Bool { get }

    /// Calls `done`, from anywhere, with what another process needs to continue the session; nil: there is none.
    func session(_ done: @escaping @Sendable (SharedSession?) -> Void)

    /// Answers a question of another host's for a guard here.
    func vote(_ vote: Vote, on question: ForeignQuestion, by number: UInt64)

    /// What ``SharingNews/tookOver(_:)`` has told is in force here; nothing is committed before that.
    func tookOver()

    /// Leaves the session to another process: it does not end with this one.
    func leaveSession()

    /// Calls `handler` with what has changed, one after the other, and soon with what is known to be so.
    ///
    /// There is one handler; a later one replaces it. Until it is called the machine is not known to be up. Called from anywhere.
    func onNews(_ handler: @escaping @Sendable (SharingNews) -> Void)
}

/// The hosts that share a machine, in the order of their names.
package struct SharingHosts: Sendable {
    /// One that has a session with the engine.
    package struct Host: Hashable, Sendable {
        package let name: String
        /// Of its program.
        package let version: String
        /// Where it was when it last said so.
        package let seq: UInt64
        /// The lease, in hexadecimal digits.
        package let session: String
        /// Tells its states apart from those of another file or program.
        package let form: String
        /// The hash of its machine's file; empty: it has none.
        package let declaration: String
        /// Tells one start of its computer apart from another.
        package let boot: String
        /// How far its clock is ahead of this host's, in milliseconds; nil if it has not told the time while this host listened.
        package let offset: Int64?

        package init(
            _ name: String,
            version: String,
            seq: UInt64,
            session: String,
            form: String,
            declaration: String,
            boot: String,
            offset: Int64?
        ) {
            (self.name, self.version, self.seq, self.session) = (name, version, seq, session)
            (self.form, self.declaration, self.boot) = (form, declaration, boot)
            self.offset = offset
        }
    }

    package let hosts: [Host]
    /// Whether a quorum has just said so; if not, it was so when one last did.
    package let isFresh: Bool

    package init(_ hosts: [Host], isFresh: Bool) { (self.hosts, self.isFresh) = (hosts, isFresh) }
}

/// What a host counts of a machine that it shares, since it has started.
package struct SharingCounts: Hashable, Sendable {
    /// How long commits took, in classes.
    package struct Times: Hashable, Sendable {
        /// The bounds of the classes in microseconds; the last class has none.
        ///
        /// A commit takes one to four milliseconds in one place; a leader's end takes seconds.
        package static let bounds: [Int64] = [
            1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 250_000, 1_000_000, 5_000_000,
        ]

        /// How many there were in each.
        package private(set) var counts = [UInt64](repeating: 0, count: Self.bounds.count + 1)
        /// Of all of them together, in microseconds.
        package private(set) var total: Int64 = 0

        package init() {}

        package mutating func add(_ microseconds: Int64) {
            let index = Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count
            self.counts[index] += 1
            self.total += microseconds
        }
    }

    /// Groups that were judged again, since another host was first.
    package var overtaken: UInt64 = 0
    /// Tickets that were put.
    package var tickets: UInt64 = 0
    /// Groups of which nobody knew in time what has become of them.
    package var unsure: UInt64 = 0
    /// Connections to the engine.
    package var connects: UInt64 = 0
    /// Sessions that have ended before the daemon did.
    package var sessionsLost: UInt64 = 0
    /// Changes of others that a read has brought and not the watch.
    package var caughtUp: UInt64 = 0
    /// How often the watch lacked something.
    package var watchGaps: UInt64 = 0
    /// How often the machine went on in a new epoch.
    package var epochs: UInt64 = 0
    /// Hosts that have a session, as far as was seen.
    package var hosts = 0
    package var commits = Times()

    package init() {}
}

/// What is told of a machine that hosts share.
package enum SharingNews: Hashable, Sendable {
    /// What it shows here is what all have, and it can be changed.
    case up
    /// It may be older, or it cannot be changed, and why.
    case down(SharingTrouble)
    /// No member of the engine can be reached, and for each why; empty: one can.
    case unreachable([String])
    /// What is wrong with a value of the machine's in the engine; nil: nothing is, or a later program has written it.
    case damaged(String?)
    /// The engine no longer has what all hosts go by, and this one goes by its own.
    case lacksSettings
    /// A member of the engine is older than it should be.
    case oldEngine(version: String)
    /// The machine has begun another numbering, and by what it was seen that it has to, where this host has seen it.
    case restarted(because: String?)
    /// So many changes were made that the engine's log no longer has, and this host has not seen.
    case missed(UInt64)
    /// What this host had kept was renamed to that, since it is not the machine's past, or not all of it.
    case setAside(file: String)
    /// Holds of this host's that its daemon had when it was killed are in force again at the others, and have to be here, before
    /// ``MachineSharing/tookOver()`` is called.
    case tookOver([KeptVoter])
    /// A hold or a guard of another host has gone: what it has denied may be allowed now.
    case voterWent
    /// Another host asks guards here; it has one question at a time.
    case asked(ForeignQuestion)
    /// Its question is over.
    case askEnded(host: String)
    /// The session has ended, and what connections hold by it: the other hosts are about to see that.
    case sessionEnded
    /// The daemon has to end until somebody mends what the sentence says.
    case over(String)
}

/// What another host asks guards of this one; its id tells it apart from all others.
package struct ForeignQuestion: Hashable, Sendable {
    package let host: String
    package let id: UInt64
    package let motion: Motion
    /// The numbers of the guards that are asked and were not before.
    package let guards: [UInt64]

    package init(host: String, id: UInt64, _ motion: Motion, guards: [UInt64]) {
        (self.host, self.id, self.motion, self.guards) = (host, id, motion, guards)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.host == right.host && left.id == right.id && left.guards == right.guards
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.id) }
}

/// A host's session, as one process leaves it to the next.
package struct SharedSession: Hashable, Sendable {
    package let lease: Int64
    /// Until when it can be counted on, in microseconds of ``KernelClock``.
    package let deadline: Int64
    /// Which daemon has begun it, among all that ever ran for this host.
    package let instance: String
    /// The numbers of what connections hold by it.
    package var voters: Set<UInt64>

    package init(lease: Int64, deadline: Int64, instance: String, voters: Set<UInt64> = []) {
        (self.lease, self.deadline, self.instance) = (lease, deadline, instance)
        self.voters = voters
    }
}

/// Why a shared machine may be elsewhere than it is here, or cannot be changed, in the words of the wire; of several the first is told.
package enum SharingTrouble: String, CaseIterable, Comparable, Sendable {
    /// This program cannot read it: a later one has written it, or it is damaged.
    case layout
    /// It is in a state that there is not here.
    case form
    case certificate
    case permission
    /// No quorum has answered for too long.
    case engine
    /// The engine has no room.
    case full
    /// This host has no session.
    case session

    package static func < (left: Self, right: Self) -> Bool {
        Self.allCases.firstIndex(of: left) ?? 0 < Self.allCases.firstIndex(of: right) ?? 0
    }

    /// For people.
    package var sentence: String {
        switch self {
        case .layout:
            "this program cannot read what the engine has of the machine: a later one has written it, or it is damaged"
        case .form:
            "the machine is in a state that this host's file does not have; give it the same file"
        case .certificate: "the engine does not take the certificate"
        case .permission:
            "the engine does not let this host's user read and write the machine's keys; grant it a role that may"
        case .engine: "no quorum of the engine has answered"
        case .full: "the engine is full"
        case .session: "this host has no session with the engine"
        }
    }
}
