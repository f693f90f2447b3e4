import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The stays of a machine: since when each counts, and what lines show about it.
///
/// `@unchecked Sendable`: its variables are touched on the event loop only.
final class Stays: @unchecked Sendable {
    /// Since when they count; may be asked on any thread.
    let starts: StayStarts
    /// What the machine does by itself.
    let moves: OwnMoves
    private let schema: any Schema
    private let loop: any EventLoop
    private let keeper: StayKeeper?

    /// The subscription that reports when the wall clock is set.
    private var setting: (any Sendable)?
    private var catchUp: () -> Void = {}
    /// Called with what lines show about the present stay when that has changed.
    private var correct: (ServerLine.Stay) -> Void = { _ in }

    /// - Parameters:
    ///   - machine: the machine.
    ///   - snapshot: where it is.
    ///   - schema: its states, and what it does.
    ///   - clock: measures the stays of a machine whose history does not.
    ///   - loop: where all this happens.
    ///   - cursor: where the machine answers.
    init(
        of machine: Machine,
        from snapshot: Place,
        _ schema: any Schema,
        clock: any StayClock,
        on loop: any EventLoop,
        at cursor: Drain
    ) {
        let history = machine.history as? any StayHistory
        let start = StayStart(stay: snapshot.stay, moment: clock.moment)
        self.starts = history?.starts ?? StayStarts(start, clock: clock)
        self.schema = schema
        self.loop = loop
        self.keeper = history.map { [starts] in StayKeeper($0, starts, on: loop) }
        self.moves = OwnMoves(
            of: machine,
            from: snapshot,
            schema,
            self.starts,
            isFirstInBoot: history?.isFirstInBoot ?? false,
            on: loop,
            at: cursor
        )
    }

    /// Where the machine was when it was last handed over.
    private var snapshot: Place { self.moves.snapshot }

    // MARK: - What lines show

    /// What the line of a change shows about the stay; the same is recorded with the change.
    ///
    /// - Parameter change: the change; the state that it led to is encoded.
    /// - Returns: its number, and what is due.
    func stay(after change: Change) -> ServerLine.Stay {
        // Without a deadline the start of the stay is not looked up for every change.
        let due = change.new.encoded.deadline.map { deadline in
            deadline.due(since: self.starts.start(of: change.stay, at: change.seq, change.at))
        }
        return ServerLine.Stay(seq: change.stay, due: due)
    }

    /// What lines show now about the stay that a place is in, whose deadline may have begun again since.
    ///
    /// - Parameter place: where the machine was; its state is encoded.
    /// - Returns: its number, and what is due.
    func stay(at place: Place) -> ServerLine.Stay {
        let due = place.value.encoded.deadline.map { deadline in
            deadline.due(
                since: self.starts.newest(of: place.stay)
                    ?? self.starts.start(of: place.stay, at: place.seq, place.at)
            )
        }
        return ServerLine.Stay(seq: place.stay, due: due)
    }

    /// The milliseconds that are left until the present state's deadline; 0 if it has passed, nil if there is
    /// none.
    var leftMs: Int64? {
        guard let deadline = self.schema.deadline(of: self.snapshot.value),
            let start = self.starts.newest(of: self.snapshot.stay)
        else { return nil }
        let elapsed = start.elapsed(at: self.starts.clock.moment)
        return max(0, deadline.delay.wholeMicroseconds - elapsed) / 1000
    }

    // MARK: - What happens

    /// Begins to make moves; all who may have a say are here.
    ///
    /// - Parameters:
    ///   - catchUp: makes the machine hand over everything up to the present stay.
    ///   - correct: called with what lines show about the present stay when that has changed
    ///     because the wall clock was set.
    ///   - tell: called when moves are withheld, and with nil when they no longer are.
    func begin(
        catchingUp catchUp: @escaping () -> Void,
        correcting correct: @escaping (ServerLine.Stay) -> Void,
        telling tell: @escaping (Suspension?) -> Void
    ) {
        self.catchUp = catchUp
        self.correct = correct
        self.setting = self.starts.clock.onSetting { [loop] in
            loop.execute { self.clockWasSet() }
        }
        self.moves.begin(telling: tell)
    }

    func stop() {
        self.setting = nil
        self.catchUp = {}
        self.correct = { _ in }
        self.moves.stop()
        self.keeper?.stop()
    }

    /// Notes how far the machine has been handed over.
    func passed(_ snapshot: Place) { self.moves.passed(snapshot) }

    /// Adapts to a new declaration: what is due follows from it, counted from the stay's start.
    func redeclared(_ snapshot: Place) {
        if snapshot.seq == self.snapshot.seq { self.passed(snapshot) }
        self.moves.armAnew()
    }

    /// The move for an end of a stay's run; nil if none, or if the machine is in another stay.
    ///
    /// - Throws: `bad-data`, whatever the stay.
    func move(
        onEndOfRun data: [JSONMember],
        in stay: UInt64
    ) throws(WireError) -> MachineMove? {
        let move = try self.schema.move(onEndOfRun: data, in: self.snapshot.value)
        return self.snapshot.stay == stay ? move : nil
    }

    /// Notes that a stay's deadline has begun anew, at an event's turn.
    func renewed(_ stay: UInt64) {
        self.keep(stay)
        self.moves.arm()
    }

    private func clockWasSet() {
        // A stay that began before that and is not handed over yet counts from the clock as it was.
        self.catchUp()
        guard let start = self.starts.newest(of: self.snapshot.stay) else { return }
        let adjusted = start.adjusted(to: self.starts.clock.moment)
        guard adjusted != start else { return }
        self.starts.correct(adjusted)
        self.keep(adjusted.stay)
        self.moves.arm()
        let due = self.schema.encoded(self.snapshot.value).deadline?.due(since: adjusted)
        self.correct(ServerLine.Stay(seq: adjusted.stay, due: due))
    }

    private func keep(_ stay: UInt64) {
        // If it counted from this boot, the next run could not tell that it was interrupted.
        guard !self.moves.isInterrupted(stay) else { return }
        self.keeper?.changed(stay)
    }
}
