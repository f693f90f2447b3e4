import StateMachineCore
import StateMachineProtocol

/// The machine that is served, by what its states look like on the wire.
///
/// The state's type ends here: what handles lines, watches and sockets is compiled once, and not by
/// way of metadata that is looked up at every step.
///
/// Belongs to the event loop: it is called there, and calls back there.
protocol ServedMachine: AnyObject, Sendable {
    var schema: StateSchema { get }

    /// The state that a machine of this kind begins with.
    var initial: EncodedState { get }

    /// What says how the states look; nil of states that the program has in it.
    var declaration: RecordedDeclaration? { get }

    /// Who is given transitions, from the one after the snapshot that ``observe()`` returns; held on to
    /// until ``stop()``.
    var server: StateServer? { get set }

    /// Begins to hand over transitions, in later turns of the event loop.
    ///
    /// - Returns: where the machine was.
    func observe() -> EncodedSnapshot

    /// Hands over, now, everything that has been committed.
    func catchUp()

    /// Has it make the move that is declared for a new start of the machine, if this is the first run since.
    ///
    /// - Parameter done: called on the event loop when it was made, or could not be, and before this returns if
    ///   there is none.
    func boot(_ done: @escaping () -> Void)

    /// Lets it make moves of its own from now on: all who may have a say are here.
    ///
    /// - Parameter tell: told when moves are withheld, and with nil when they are not any more.
    func beginMoving(telling tell: @escaping (Suspension?) -> Void)

    /// Lets it make no move of its own any more.
    func stopMoving()

    /// A hold or a guard has gone: what it denied is tried again.
    func voterWent()

    /// Makes moves of its own that were withheld, for somebody asks for something.
    func liftSuspension()

    /// The milliseconds until the deadline of the present stay; nil if there is none.
    var leftMs: Int64? { get }

    /// Hands over nothing any more.
    func stop()

    /// The state of that name with that data.
    ///
    /// - Throws: `unknown-state` or `bad-data`, with what would have been right.
    func state(_ name: String, data: JSONValue?) throws(WireError) -> EncodedState

    /// What an event or an update asks for.
    ///
    /// - Parameters:
    ///   - call: the event or the update.
    ///   - id: the request's.
    ///   - setter: who asks.
    /// - Returns: the request, for ``propose(_:of:)``.
    /// - Throws: `unknown-event` or `bad-data`, as far as that can be told before its turn; for the
    ///   end of a run also why it cannot be taken now.
    func request(
        for call: EventCall,
        id: RequestID?,
        by setter: CompactPeer
    ) throws(WireError) -> ChangeRequest

    /// Decides on a state at once, if nobody has to be waited for.
    ///
    /// - Parameters:
    ///   - state: made by ``state(_:data:)``.
    ///   - call: what else is asked for; nil: nothing.
    ///   - cause: why.
    ///   - setter: who asks.
    /// - Returns: what became of it; nil if it has to wait. Then nothing is decided, and it is to be
    ///   proposed.
    func decide(
        _ state: EncodedState,
        _ call: SetCall?,
        cause: String?,
        by setter: CompactPeer
    ) -> SetOutcome?

    /// Proposes what is asked for, which is answered once, on the event loop.
    ///
    /// - Parameters:
    ///   - request: made of a state of ``state(_:data:)``, or by ``request(for:id:by:)``.
    ///   - sets: where it is listed, before it can be answered.
    func propose(_ request: ChangeRequest, of sets: Sets)

    /// What may be sent to it, for `describe`; nil of a machine that has no events, and is set as a whole.
    var events: JSONValue? { get }

    /// What it is called, for `describe`.
    var name: String? { get }

    /// How many moves of its own it makes in what time before they are suspended, for `describe`; nil of a machine
    /// that makes none.
    var allowance: (moves: Int, time: Duration)? { get }

    /// What there is to know of a state beside its fields, for `describe`.
    func description(of state: String) -> [JSONMember]

    /// The number of the group that the write-ahead log has been given and has not answered; nil if it has
    /// answered all.
    var groupUnderWay: UInt64? { get }

    /// Calls `done` when all sets that are on their way to the write-ahead log have been answered, on the
    /// event loop; before this returns if there are none.
    func afterCommits(_ done: @escaping @Sendable () -> Void)

    /// Calls `done` on the event loop when what is being decided now is decided, and every question
    /// that was put before has come.
    func afterDecision(_ done: @escaping @Sendable () -> Void)

    /// Adds a voter; see `StateMachine.addVoter`.
    ///
    /// - Parameters:
    ///   - name: what denials call it.
    ///   - peer: whose it is.
    ///   - deadline: how long it is waited for.
    ///   - patterns: the states before which it is asked.
    ///   - body: asked on the event loop.
    /// - Returns: what ends it.
    func addVoter(
        _ name: VoterName,
        peer: Peer,
        deadline: VoteDeadline,
        before patterns: VoterPatterns,
        _ body: @escaping @Sendable (VoteRequest) -> Void
    ) -> Registration
}

/// A place in the order, by what the wire shows of it.
struct EncodedSnapshot: Sendable {
    let seq: UInt64
    let state: EncodedState
    let at: WallTime
    /// Nil of a machine that has no stays.
    var stay: ServerLine.Stay?
}

/// What became of a `set`.
enum SetOutcome: Sendable {
    case committed(EncodedSnapshot)
    case unchanged(EncodedSnapshot, isHandled: Bool = true)
    /// An event or an update could not be taken where it found the machine.
    indirect case rejected(WireError, current: EncodedSnapshot)
    /// `of` is the state that was to be entered; nil if it was none.
    indirect case refused(Refusal, of: EncodedState? = nil, current: EncodedSnapshot)
}

/// A question to a voter; letting go of it is consent.
struct VoteRequest: Sendable {
    let current: EncodedSnapshot
    let proposed: EncodedState
    let by: Peer?
    let cause: String?
    /// Returns whether the vote still counted.
    let vote: @Sendable (Vote) -> Bool
}
