import NIOCore
import StateMachineCore
import StateMachineProtocol

/// One subscription of a connection: what it wants and how far it has come.
///
/// Belongs to the event loop.
final class Watch {
    /// What the watch is sent.
    enum Phase: String, Codable {
        /// Nothing: earlier lines of the connection are due before its first line.
        case queued
        /// Changes from before it began, then `live`.
        case replaying
        /// Changes as they happen.
        case live
    }

    var id: RequestID? { self.selection.id }
    var selection: ChangeSelection

    /// Only a replay is given what the ring no longer has: a slow reader of what happens now is told of the loss.
    private(set) var phase = Phase.queued {
        didSet { self.cursor.reachesDisk = self.isReplaying }
    }

    /// Whether its end is queued; it goes on until everything before that has been written.
    var isEnding = false

    /// When it may be sent something, and when it has to be; nil if time does not matter to it.
    let pace: WatchPace?

    /// Whether it begins with earlier changes.
    let isToReplay: Bool

    /// The line that asked for it; empty if it began with the connection: then the client's end-of-file ends it.
    let request: [UInt8]

    /// The last seq that it has been sent or that did not concern it, and what it knows of the declarations.
    let cursor: PastCursor<RecordedLines>

    /// What it has found so far, if it wants the newest change alone.
    let newest: Newest?

    /// The seq of the last line that it was sent, or of the cursor that it began with.
    private(set) var reported: UInt64

    /// What it was told last of a machine that hosts share; nil: that it is what all have, or nothing.
    private var told: SharingTrouble?
    /// Whether it is told in any case, since its client has heard, or may have, that what is shown is old.
    private var isToBeTold: Bool

    /// A watch of the changes after that one.
    init(
        _ call: WatchCall,
        id: RequestID?,
        after seq: UInt64,
        isToReplay: Bool,
        declarations: Int,
        request: [UInt8],
        isToBeTold: Bool
    ) {
        self.request = request
        self.isToBeTold = isToBeTold
        self.selection = ChangeSelection(call, id: id)
        self.pace = WatchPace(everyMs: call.everyMs, beatMs: call.beatMs, now: .now())
        self.newest = call.mode == .latest ? Newest() : nil
        self.isToReplay = isToReplay
        self.cursor = PastCursor(after: seq, declarations: declarations)
        self.reported = seq
    }

    /// Starts it, when its turn has come.
    func start() { self.phase = self.isToReplay ? .replaying : .live }

    /// Resumes where it was in the last process, which had sent it `reported`.
    func resume(in phase: Phase, reported: UInt64, head: UInt64) {
        // Changes not sent there are earlier changes here.
        self.phase = phase == .live && self.cursor.seq < head ? .replaying : phase
        self.reported = reported
    }

    /// Notes that it was sent a line that makes it current.
    func becomeLive(at seq: UInt64) {
        self.phase = .live
        self.cursor.seq = seq
        self.reported = seq
    }

    /// Notes how far it has been written to.
    func passed(_ written: Output.Written) {
        self.cursor.passed(to: written.examined)
        if let last = written.last { self.reported = last }
    }

    /// Notes that it was sent a line that names its cursor.
    func beatWent() { self.reported = self.cursor.seq }

    /// Whether it has been told how it is with a machine that hosts share, if they do.
    func isTold(of sharing: Sharing?) -> Bool {
        guard let sharing else { return true }
        return !self.isToBeTold && self.told == sharing.trouble
    }

    /// Notes that it was told that, in a line that names its cursor.
    func sharingWent(_ trouble: SharingTrouble?) {
        (self.told, self.isToBeTold) = (trouble, false)
        self.reported = self.cursor.seq
    }

    /// Notes that it was sent the next declaration, in a line that names its cursor.
    func declaredWent() {
        self.cursor.declarations += 1
        self.reported = self.cursor.seq
    }

    /// Has nothing come of it any more.
    func end() {
        self.pace?.cancelTimer()
        self.cursor.leave()
    }

    /// Whether its lines are the ring's own, byte for byte.
    var isPlain: Bool {
        self.selection.mode == .all && self.id == nil && self.selection.only == nil
            && !self.isReplaying
    }

    var isReplaying: Bool { self.phase == .replaying }

    var isRunning: Bool { self.phase != .queued }

    /// The newest wanted change among those examined.
    ///
    /// An object, as the pace is, since most watches have none.
    final class Newest {
        /// The change before the first of them.
        private var cursor: UInt64 = 0
        /// The last of them.
        var seq: UInt64 = 0
        private(set) var wanted: UInt64?
        /// How many of them are wanted.
        private(set) var count: UInt64 = 0

        /// Begins a new search if the watch has gone on since or is not to go as far for now.
        func examine(after cursor: UInt64, through end: UInt64) {
            guard cursor != self.cursor || self.seq < cursor || self.seq > end else { return }
            (self.cursor, self.seq, self.wanted, self.count) = (cursor, cursor, nil, 0)
        }

        /// Notes a change that is wanted.
        func found(_ seq: UInt64) {
            self.wanted = seq
            self.count += 1
        }
    }
}

/// Decides when a paced watch may be sent a line and when it is due a beat.
///
/// Belongs to the event loop.
final class WatchPace {
    private let interval: TimeAmount?
    private let beat: TimeAmount?
    private var lastLine: NIODeadline?
    private var quietSince: NIODeadline
    /// Set while the next line or beat waits for its time.
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?

    /// A pace of at least `everyMs` between two lines (0 for none) and at most `beatMs` of silence (nil
    /// for any); nil if that is none at all.
    init?(everyMs: UInt64, beatMs: UInt64?, now: NIODeadline) {
        guard everyMs > 0 || beatMs != nil else { return nil }
        self.interval = everyMs == 0 ? nil : .bounded(milliseconds: everyMs)
        self.beat = beatMs.map { .bounded(milliseconds: $0) }
        self.quietSince = now
    }

    /// How long the next line has to wait; nil if it may go now.
    func wait(at now: NIODeadline) -> TimeAmount? {
        guard let interval, let lastLine, lastLine + interval > now else { return nil }
        return lastLine + interval - now
    }

    /// How long until a beat is due if nothing is sent; zero if it is due; nil for never.
    func untilBeat(at now: NIODeadline) -> TimeAmount? {
        guard let beat else { return nil }
        let due = self.quietSince + beat
        return due > now ? due - now : .zero
    }

    /// Notes that a line was sent; a beat, for one, does not make the next line wait.
    func wrote(at now: NIODeadline, holdsBackNext: Bool) {
        self.quietSince = now
        if holdsBackNext { self.lastLine = now }
    }

    /// Requests a turn for the watch's connection at that time, unless one is set for sooner.
    func setTimer(at deadline: NIODeadline, on loop: any EventLoop, for output: Output) {
        if let timer = self.timer, timer.deadline <= deadline { return }
        self.cancelTimer()
        let task = loop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in
            self?.timer = nil
            output.want()
        }
        self.timer = (deadline, task)
    }

    func cancelTimer() {
        self.timer?.task.cancel()
        self.timer = nil
    }
}

extension TimeAmount {
    /// At most a hundred years, so that the nanoseconds fit.
    static func bounded(milliseconds: UInt64) -> TimeAmount {
        .milliseconds(Int64(min(milliseconds, 3_155_760_000_000)))
    }
}
