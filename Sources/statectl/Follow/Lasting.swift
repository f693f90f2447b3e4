import StateMachineClient
import StateMachineCore

/// Tells when the state that a machine is in has lasted for long.
///
/// Guarded state: `state`, behind its lock.
final class StayTimer: Sendable {
    /// A stay that may come to last long.
    struct Stay: Equatable {
        /// The change that began it, which tells it from others, also of another numbering; nil if the daemon has to be
        /// asked for it.
        let beginning: Cursor?
        /// When it has lasted for that long.
        let due: ContinuousClock.Instant
    }

    /// The stay that is noted, and the beginning of the last one that was reported.
    private let state = Lock<(stay: Stay?, reported: Cursor?)>((nil, nil))
    private let bell = Doorbell()

    /// Notes the stay that the machine is in; nil if it is in none that counts.
    ///
    /// Does nothing if the noted stay has that beginning already. A stay must not be due before the one that it replaces.
    func note(_ stay: Stay?, unlessIn beginning: Cursor? = nil) {
        self.state.withLock {
            if beginning == nil || $0.stay?.beginning != beginning { $0.stay = stay }
        }
        self.bell.ring()
    }

    /// Notes that the numbering continues under that name, so that the stay which was reported is still the same.
    func numberingContinues(as epoch: Epoch) {
        self.state.withLock { state in
            state.reported = state.reported.map { Cursor(epoch: epoch, seq: $0.seq) }
        }
    }

    /// Returns the daemon's line for the next stay that has lasted long enough; each is reported once.
    ///
    /// `present` asks for the present state and its stay; nil if the state is not one of those asked about.
    func next(_ present: () async throws -> (line: Line, stay: Stay)?) async throws -> Line {
        var rings = self.bell.rings.makeAsyncIterator()
        repeat {
            while let stay = self.pending {
                try await Task.sleep(until: stay.due, clock: QuietClock())
                // Another began meanwhile, whose time comes later.
                guard self.pending == stay else { continue }
                let found: (line: Line, stay: Stay)?
                do {
                    found = try await present()
                } catch is ClientError {
                    // The watch reports that the daemon has gone, and the machine's state once it is back.
                    found = nil
                }
                let isToReport = self.state.withLock { state in
                    if let found, found.stay.beginning == stay.beginning, stay.beginning != nil {
                        state.reported = stay.beginning
                        return true
                    }
                    // A line with the new state is on its way, unless only the daemon could say
                    // which it is.
                    if state.stay == stay { state.stay = stay.beginning == nil ? found?.stay : nil }
                    return false
                }
                if isToReport, let found { return found.line }
            }
        } while await rings.next() != nil
        throw CancellationError()
    }

    /// The stay to be waited for.
    var pending: Stay? {
        self.state.withLock { state in
            state.stay.flatMap {
                $0.beginning == nil || $0.beginning != state.reported ? $0 : nil
            }
        }
    }
}

/// Reports each stay in a state once, when it has lasted for too long.
struct StuckWatch: Sendable {
    /// Asked whether the state is still the same when the time has come.
    let client: Client
    /// Which states; none means every state.
    let patterns: [Pattern]
    /// How long a stay may last.
    let span: Duration
    private let timer = StayTimer()

    /// Takes a line of the watch; replayed lines count once all of them have been shown.
    func lineReceived(_ line: Line) {
        switch line.kind {
        case .change where line.isReplay: self.timer.note(nil)
        case .state where !line.isSelected: self.timer.note(nil)
        // How long it has lasted already is for the daemon to say.
        case .live, .state:
            if line.kind == .live, let epoch = line.position?.epoch {
                self.timer.numberingContinues(as: epoch)
            }
            self.timer.note(StayTimer.Stay(beginning: nil, due: .now))
        case .change:
            let beginning = line.beginning
            // An update belongs to the same stay.
            let isNew = beginning?.seq == line.seq
            let stay = StayTimer.Stay(
                beginning: isNew ? beginning : nil,
                due: isNew ? .now.advanced(by: self.span) : .now
            )
            self.timer.note(stay, unlessIn: beginning)
        case .beat, .reply, .declared, .ask, .bye, .other: break
        }
    }

    /// Calls `body` with the daemon's answer for each stay that lasts too long, until the task is cancelled.
    func run(_ body: (Line) throws -> Void) async throws {
        while true { try body(try await self.timer.next(self.present)) }
    }

    private func present() async throws -> (Line, StayTimer.Stay)? {
        let line = try await self.client.accepted(.get)
        if !self.patterns.isEmpty {
            let reply = try await self.client.look(for: self.patterns)
            guard reply.isOK == true, reply.seq == line.seq else { return nil }
        }
        let left = self.span - (try await self.client.stayAge(of: line))
        let due = ContinuousClock.now.advanced(by: left)
        return (line, StayTimer.Stay(beginning: line.beginning, due: due))
    }
}

/// Decides how long the machine has been in one of some states without a break.
///
/// It takes the lines of a watch for these states alone: if a change's seq is not one more than the
/// last one's, the machine was in another state in between.
struct LastingState {
    /// The seq of the last line, while the machine is in one of them; nil otherwise.
    private(set) var seq: UInt64?
    /// The same in its numbering.
    private(set) var position: Cursor?
    /// Since when; nil while it is in none.
    private(set) var since: ContinuousClock.Instant?

    /// Takes a line of the watch, whose change was made that long ago.
    mutating func lineReceived(_ line: Line, at now: ContinuousClock.Instant, _ age: Duration) {
        switch line.kind {
        case .change, .state: break
        case .live where !line.isSelected: return self.left()
        // The changes before it have said so, perhaps under the numbering's earlier name.
        case .live:
            if self.position != nil { self.position = line.position }
            return
        case .beat, .reply, .declared, .ask, .bye, .other: return
        }
        guard line.isSelected, let seq = line.seq else { return self.left() }
        let isNext = line.kind == .change && self.seq.map { $0 + 1 == seq } ?? false
        if !isNext { self.since = now.advanced(by: .zero - age) }
        (self.seq, self.position) = (seq, line.position)
    }

    private mutating func left() { (self.seq, self.position, self.since) = (nil, nil, nil) }
}

extension WaitCommand {
    /// The line that shows a state which has lasted for that long without a break.
    ///
    /// - Throws: ``Refusal``, ``ClientError``, or `CancellationError`.
    func lasted(
        _ span: Duration,
        _ client: Client,
        within limit: Duration?,
        isPatient: Bool
    ) async throws -> Line {
        let timer = StayTimer()
        let watch = client.watch(only: self.patterns, until: self.fail, isPatient: isPatient)
        let entries: [Race.Entry<Line>] = [
            { try await self.follow(watch, client, span, timer) },
            {
                try await timer.next {
                    let line = try await client.accepted(.get)
                    return (line, StayTimer.Stay(beginning: line.position, due: .now))
                }
            },
        ]
        return try await Race.run(entries, within: limit) {
            throw Refusal(
                "no such state lasted that long within the timeout; give a longer --timeout",
                .timeout
            )
        }
    }

    /// Notes stays; throws when a state of `--fail` is reached.
    private func follow(
        _ watch: Watch,
        _ client: Client,
        _ span: Duration,
        _ timer: StayTimer
    ) async throws -> Line {
        var state = LastingState()
        try await Follow(watch: watch).run { news in
            switch news {
            case .line(let line):
                state.lineReceived(line, at: .now, try await client.age(ofReceived: line))
                timer.note(
                    state.since.map {
                        StayTimer.Stay(beginning: state.position, due: $0.advanced(by: span))
                    }
                )
            case .reached(let line):
                if self.options.json { try StandardOutput.offer(line.text) }
                let state = line.state?.text ?? "a state"
                throw Refusal("reached \(state), which counts as failure")
            case .connected(isAgain: false): break
            case .connected, .gone, .awaited: news.complain()
            }
            return .next
        }
        throw CancellationError()
    }
}

extension Client {
    /// Whether the machine has been in one of some states for that long without a break, by its history; `present`
    /// shows one of them, and was entered `age` ago.
    ///
    /// What was before that is told by the wall clock, as the changes have it. It counts as no if that cannot be told,
    /// as the daemon has not kept enough.
    ///
    /// - Throws: ``ClientError``.
    func hasLasted(
        _ present: Line,
        in patterns: [Pattern],
        for span: Duration,
        age: Duration
    ) async throws -> Bool {
        guard age < span else { return true }
        guard let seq = present.seq, let at = present.at else { return false }
        let start = max(0, at.microseconds - (span - age).wholeMicroseconds)
        /// The newest change to one of those states between two places; nil if there is none.
        func newest(
            _ only: [Pattern],
            after: HistoryPosition?,
            before: HistoryPosition
        ) async throws -> Line? {
            try await self.change(
                .history(limit: 1, only: only, order: .newest, after: after, before: before)
            )
        }
        // Where the machine was then: the last change before that has to have led to one of them.
        let then = HistoryPosition.time(WallTime(microseconds: start))
        guard let last = try await newest([], after: nil, before: then)?.seq, last < seq,
            try await newest(patterns, after: .seq(last - 1), before: .seq(last + 1)) != nil
        else { return false }
        // All other states: those that no pattern selects, and those that one excepts.
        let taken = patterns.filter(\.isException).map { !$0 }
        let selected = patterns.filter { !$0.isException }.map { !$0 }
        for others in [selected, taken] where !others.isEmpty {
            let other = try await newest(others, after: .seq(last), before: .seq(seq + 1))
            if other != nil { return false }
        }
        return true
    }
}

extension Line {
    /// Its cursor; nil if that is none, as of no daemon.
    fileprivate var position: Cursor? { self.cursor.flatMap { Cursor($0) } }

    /// The change that began the stay which it shows.
    var beginning: Cursor? {
        self.position.map { Cursor(epoch: $0.epoch, seq: self.stay ?? $0.seq) }
    }
}

/// How long states have lasted: by the daemon's clock that nobody sets, as far as it tells, else by the wall clock.
extension Line {
    /// How long ago its change was made; zero if the wall clock has been set back.
    func age(at now: WallTime) -> Duration {
        if let age = self.age { return age }
        guard let at = self.at else { return .zero }
        return .microseconds(max(0, now.microseconds - at.microseconds))
    }
}

extension Client {
    /// How long ago a line's change was made; a change that was just made is told at once.
    fileprivate func age(ofReceived line: Line) async throws -> Duration {
        guard line.kind == .state || line.isReplay, line.isSelected else { return .zero }
        do {
            return try await self.age(of: line)
        } catch is ClientError {
            // The watch notices, and tells the state again when the daemon is back.
            return .zero
        }
    }

    /// How long ago the change in a line was made.
    func age(of line: Line) async throws -> Duration {
        let present = try await self.accepted(.get)
        guard let newest = present.at, let at = line.at else { return .zero }
        return present.age(at: .now)
            + .microseconds(max(0, newest.microseconds - at.microseconds))
    }

    /// How long the stay has lasted that an answer to `get` shows.
    func stayAge(of present: Line) async throws -> Duration {
        if let age = present.stayAge { return age }
        let age = present.age(at: .now)
        guard let stay = present.stay, stay != present.seq, let newest = present.at else {
            return age
        }
        // It began before the daemon did, and has been updated since.
        let first = try await self.change(
            .history(limit: 1, order: .newest, before: .seq(stay + 1))
        )
        guard first?.seq == stay, let began = first?.at else { return age }
        return age + .microseconds(max(0, newest.microseconds - began.microseconds))
    }
}
