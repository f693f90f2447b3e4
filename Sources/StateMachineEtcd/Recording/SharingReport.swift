#if Cluster
import StateMachineCore
import StateMachineProtocol
import Synchronization

/// What any thread may know of a shared machine at once; whoever performs writes it down, on its event loop.
///
/// Guarded state: all of it, behind its locks or atomic.
final class SharingReport: Sendable {
    /// The numberings of the arrivals that were adopted and not taken.
    let arrivals = Lock<[Epoch]>([])
    /// The holds and guards of other hosts.
    let voters = Lock<[ForeignVoter]>([])
    let counts = Lock(SharingCounts())
    /// When a quorum was last asked that has said where the machine is, in microseconds of ``KernelClock``; 0: never.
    let asked = Atomic<Int64>(0)
    /// How many of the hosts that have a session come before this one.
    let rank = Atomic<Int>(0)
    /// Until when the session can be counted on, by the same clock; 0: there is none.
    let deadline = Atomic<Int64>(0)
}
#endif
