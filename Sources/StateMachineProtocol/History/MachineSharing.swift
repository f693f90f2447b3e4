package import StateMachineCore

/// A machine that several hosts share, as the server of one of them sees it.
///
/// Everything may be called from any thread.
package protocol MachineSharing: AnyObject, Sendable {
    /// Has the machine, whose log this is, adopt where it is and what others make of it, from now on; called once, by whoever
    /// already hears what happens to the machine.
    func begin(moving machine: Machine)

    /// The name that the machine has for all of its hosts.
    var machineName: String { get }

    /// The name of this host.
    var host: String { get }

    /// How long ago a quorum was asked that last said where the machine is, in milliseconds; nil if none ever has.
    var ageMs: Int64? { get }

    /// The numbering that the machine is in from the oldest arrival on that was not taken; whoever follows the machine takes one with
    /// each.
    func takeArrival() -> Epoch?

    /// Asks a quorum whether the machine is where it is here, from now on.
    ///
    /// - Parameter done: called once, from anywhere; nil, or why it may be elsewhere.
    func confirm(_ done: @escaping @Sendable (SharingTrouble?) -> Void)

    /// Calls `handler` with what has changed, one after the other, and soon with what is known to be so.
    ///
    /// There is one handler; a later one replaces it. Until it is called the machine is not known to be up. Called from anywhere.
    func onNews(_ handler: @escaping @Sendable (SharingNews) -> Void)
}

/// What is told of a machine that hosts share.
package enum SharingNews: Hashable, Sendable {
    /// What it shows here is what all have, and it can be changed.
    case up
    /// It may be older, or it cannot be changed, and why.
    case down(SharingTrouble)
    /// No member of the engine can be reached, and for each why; empty: one can.
    case unreachable([String])
}

/// Why a shared machine may be elsewhere than it is here, or cannot be changed, in the words of the wire; of several the first is told.
package enum SharingTrouble: String, CaseIterable, Comparable, Sendable {
    /// A later program has written it.
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
}
