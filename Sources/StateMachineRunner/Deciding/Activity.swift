import StateMachineCore
package import StateMachineProtocol

/// What is to be done because of something that has happened, in this order.
package enum Action: Sendable {
    /// Write what is known to the disk before anything that follows is done.
    case record
    /// Write what is known to the disk some time soon.
    case recordSoon
    /// Start a command, unless it exists, and report its end; `afresh` forgets the end of an
    /// earlier attempt first.
    case begin(CommandOrder, afresh: Bool)
    /// Report the end of a command that exists.
    case await(CommandName)
    /// Stop a command, and report how it ended.
    case stop(CommandName)
    /// Forget the end of a command, which is not needed any more.
    case forget(CommandName)
    /// Tell the daemon how the run of that stay has ended.
    case tell(RunEnd, EnteredStay)
    /// Report the number after that time; an earlier alarm is dropped.
    case wake(Int, after: Duration)
    /// Tell the log and the counters.
    case note(Notice)
    /// There is nothing more to do in this process.
    case finish
}

/// What the daemon made of the end of a run.
package enum Answer: Hashable, Sendable {
    /// It leads somewhere.
    case taken
    /// Nothing is declared of such an end.
    case unhandled
    /// The stay has ended.
    case late
    /// It was refused, or the disk refuses; it may be taken later.
    case refused(ErrorCode, message: String)
    /// The daemon could not be asked.
    case lost(String)
}

/// What the log and the counters are told.
package enum Notice: Hashable, Sendable {
    case begun(CommandName, attempt: Int)
    /// `isFailure`: it was neither an exit with 0, nor a stop, nor an exit that the file declares.
    case ended(CommandName, CommandEnd, attempt: Int, isFailure: Bool)
    case triedAgain(CommandName, after: Duration)
    /// It was stopped by somebody else, or by a stop of the machine.
    case interrupted(CommandName)
    /// It was interrupted so many times in a row; it is run again at once, unless that counts as a failure.
    case interruptions(CommandName, Int, attempt: Int, isFailure: Bool)
    /// It does not exist, though it was begun and nobody here has ended it.
    case vanished(CommandName)
    /// It could not be started or asked about.
    case trouble(CommandName, String, retryingIn: Duration)
    /// Nothing is declared of that end; the stay goes on.
    case unhandled(CommandName, RunEnd)
    /// The daemon does not take the end of a run.
    case refused(CommandName, ErrorCode, String, retryingIn: Duration)
    /// The daemon could not be told.
    case untold(CommandName, String, retryingIn: Duration)
    /// Hooks between two states are unknown; the number is how many changes, if that is known.
    case hooksUnknown(UInt64?, from: String, to: String)
    /// The file does not know the state of an old change.
    case stateUnknown(String)
    /// The file and what the daemon has are different, or the same again.
    case differs
    case agrees
    /// Nothing is declared to be run any more.
    case nothingToRun
}

/// What is next for the run of a stay, or for the hooks of a change.
enum WorkStep {
    /// Begin a command; with `afresh` the host may have the last attempt's end, to be forgotten.
    case begin(CommandOrder, afresh: Bool)
    /// Wait for the end of a command that was begun.
    case await(CommandName)
    /// Do nothing for that long.
    case pause(Duration)
    /// Tell the daemon about that end.
    case tell(RunEnd)
    /// Nothing may be begun at the moment.
    case blocked
    /// There is nothing left to do.
    case done
}

/// What is under way: the one thing that is waited for, and the actions ordered since the last event.
///
/// The call that begins to wait for something orders it too.
struct Activity {
    enum Kind: Hashable {
        case nothing
        /// The end of that command.
        case command(CommandName)
        /// The report that nothing is left of that command.
        case stopping(CommandName)
        /// The daemon's answer about that stay.
        case telling(UInt64)
        /// The alarm of that number.
        case pausing(Int)
        /// The end of the process.
        case finished
    }

    /// How long to wait before deciding what follows when somebody else stopped a command.
    ///
    /// 5 s: the machine may be shutting down, which soon stops this process too; the next boot then decides.
    private static let interruptionPause = Duration.seconds(5)

    private var kind = Kind.nothing
    private var alarm = 0
    /// The alarm that says that the command which runs has lasted.
    private var lasting: Int?
    private var trouble = GrowingPause()
    private var actions: [Action] = []

    var isNothing: Bool { self.kind == .nothing }
    var isFinished: Bool { self.kind == .finished }

    /// Returns what was ordered since it was asked last, in order.
    mutating func takeActions() -> [Action] {
        defer { self.actions = [] }
        return self.actions
    }

    /// Orders something that is not waited for.
    mutating func order(_ action: Action) { self.actions.append(action) }

    mutating func note(_ notice: Notice) { self.order(.note(notice)) }

    /// Tells the host that the end of that command is not needed any more; nil if there is none.
    mutating func forget(_ name: CommandName?) {
        if let name { self.order(.forget(name)) }
    }

    /// Orders what a hook or the run of that stay needs next; `attempt` counts from 1.
    mutating func perform(_ step: WorkStep, attempt: Int, stay: EnteredStay?) {
        switch step {
        case .begin(let order, let afresh):
            self.order(.record)
            self.note(.begun(order.name, attempt: attempt))
            self.order(.begin(order, afresh: afresh))
            self.kind = .command(order.name)
        case .await(let name):
            self.order(.await(name))
            self.kind = .command(name)
        case .pause(let duration): self.pause(duration)
        case .tell(let end):
            guard let stay else { return }
            self.order(.tell(end, stay))
            self.kind = .telling(stay.number)
        case .blocked, .done: break
        }
    }

    /// Stops the command that runs, or ends the wait; returns whether nothing is under way any more.
    ///
    /// `begun` may run without being waited for: an earlier process began it, or the host cannot be asked about
    /// it at the moment.
    mutating func giveUp(begun: CommandName?) -> Bool {
        switch self.kind {
        case .command(let name): self.stop(name)
        case .stopping, .finished: break
        case .nothing, .telling, .pausing:
            self.kind = .nothing
            if let begun { self.stop(begun) }
        }
        return self.isNothing
    }

    private mutating func stop(_ name: CommandName) {
        self.order(.stop(name))
        self.kind = .stopping(name)
    }

    private mutating func pause(_ duration: Duration) {
        self.wake(after: duration)
        self.kind = .pausing(self.alarm)
    }

    private mutating func wake(after duration: Duration) {
        self.alarm += 1
        self.order(.wake(self.alarm, after: duration))
    }

    /// Has an alarm ring when the command that runs has lasted that long.
    mutating func expectLasting(for duration: Duration) {
        self.wake(after: duration)
        self.lasting = self.alarm
    }

    /// Whether it is that alarm, and the command still runs.
    mutating func hasLasted(_ alarm: Int) -> Bool {
        guard case .command = self.kind, self.lasting == alarm else { return false }
        self.lasting = nil
        return true
    }

    /// Pauses after somebody else stopped that command.
    mutating func pauseAfterInterruption(of name: CommandName) {
        self.note(.interrupted(name))
        self.pause(Self.interruptionPause)
    }

    /// Pauses after trouble, longer each time until `endTrouble`; `notice` is told how long.
    mutating func pauseAfterTrouble(noting notice: (Duration) -> Notice) {
        let duration = self.trouble.next()
        self.note(notice(duration))
        self.pause(duration)
    }

    /// The next pause after trouble is a short one again.
    mutating func endTrouble() { self.trouble.reset() }

    mutating func finish() {
        self.order(.finish)
        self.kind = .finished
    }

    /// Stops waiting for that; returns false if it was not what was waited for.
    mutating func ends(_ kind: Kind) -> Bool {
        guard self.kind == kind else { return false }
        self.kind = .nothing
        self.lasting = nil
        return true
    }

    /// Ends a pause before its time.
    mutating func endPause() {
        if case .pausing = self.kind { self.kind = .nothing }
    }
}
