import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Systemd

/// Carries out what was decided, in order: nothing goes before a record that it depends on.
struct Effects {
    /// How long a record that is not urgent waits for further changes.
    private static let recordDelay = Duration.seconds(1)

    /// How long stopping a command may take beyond its own time.
    ///
    /// 10 s: for a manager that is busy stopping everything else.
    private static let stopMargin = Duration.seconds(10)

    private let configuration: RunnerConfiguration
    private let host: any CommandHost
    private let memory: MemoryDirectory?
    private let log: RunnerLog
    private let post: AsyncStream<RunnerEvent>.Continuation
    private let client: Client
    private let report: RunnerReport
    private let notifier = ServiceNotifier()

    private var tally = CommandCounts()
    /// Actions not done yet; more than one or two only while the record cannot be written.
    private var pending: [Action] = []
    /// The record as it is on the disk.
    private var written: String?
    private var recording = GrowingPause()
    private var recordTimer: (any Sendable)?
    private var rereadTimer: (any Sendable)?
    private var alarm: (any Sendable)?
    /// Ends when the command begun last exists, or could not be started.
    private var begun: AsyncStream<Void>?
    private var hasReported = false
    /// Whether nothing is begun because the file is not what the daemon has.
    private var hasOtherFile = false
    /// Why nothing that has to be recorded is begun; nil if it may be.
    private var unwritten: RunnerError?
    /// Why the command that is due cannot be run at the moment; nil if it can, or none is.
    private var trouble: String?
    /// The command that has been begun and is waited for, as far as is known.
    private var present: CommandName?
    /// Why the report of what runs cannot be written; nil if it can.
    private var reportProblem: String?
    private var isEnding = false
    /// The time from SIGTERM to SIGKILL of the command begun last.
    private var grace = Duration.seconds(60)

    /// Whether there is nothing more to do in this process.
    private(set) var isFinished = false

    init(
        _ configuration: RunnerConfiguration,
        host: any CommandHost,
        memory: MemoryDirectory?,
        log: RunnerLog,
        post: AsyncStream<RunnerEvent>.Continuation
    ) {
        self.configuration = configuration
        self.host = host
        self.memory = memory
        self.log = log
        self.post = post
        self.client = Client(configuration.directory)
        self.report = RunnerReport(configuration)
    }

    /// The record that an earlier process left.
    func record(of label: MachineLabel) throws(RunnerError) -> Record? {
        guard let found = try self.memory?.record(of: label) else { return nil }
        if found.record == nil { self.log.ofAnother() }
        if !found.damage.isEmpty { self.log.damaged(found.damage) }
        return found.record
    }

    /// Notes that the process is asked to end, which a full disk does not prevent.
    mutating func willEnd() {
        self.isEnding = true
        self.tell { (manager) throws(NotifyError) in try manager.stopping() }
    }

    /// Removes this process's report.
    func end() { self.report.remove() }

    /// Has the file read again after that time.
    mutating func rereadLater(_ pause: Duration) {
        self.rereadTimer = self.timer(.rereadDue, after: pause)
    }

    mutating func add(_ actions: [Action]) { self.pending += actions }

    /// Notes that there is a daemon, whose directory may be a new one: the report belongs there.
    mutating func connected() { self.hasReported = false }

    /// Notes that a command could not be begun.
    mutating func notBegun(_ name: CommandName) {
        if self.present == name { self.present = nil }
    }

    /// The time has come to write a record that could not be written, or that was not urgent.
    mutating func recordIsDue() { self.recordTimer = nil }

    /// Carries out what can be done.
    mutating func perform(_ conductor: Conductor, in group: inout TaskGroup<Void>) async {
        var isSeen = !self.hasReported
        while !self.pending.isEmpty, !self.isFinished {
            let action = self.pending.removeFirst()
            switch action {
            case .record:
                // What was logged is shown at once, however long the disk takes.
                if isSeen { await self.report(conductor) }
                guard self.write(conductor.record) else {
                    self.pending.insert(.record, at: 0)
                    return await self.report(conductor)
                }
                isSeen = true
            case .recordSoon:
                guard self.recordTimer == nil else { continue }
                self.recordTimer = self.timer(.recordDue, after: Self.recordDelay)
            case .note(let notice):
                self.log.note(notice)
                self.tally.note(notice, at: .now)
                self.heed(notice)
                isSeen = true
            case .begin(let order, let afresh):
                self.present = order.name
                self.begin(order, afresh: afresh, in: &group)
            case .await(let name):
                // An earlier process began it.
                self.present = name
                isSeen = true
                self.await(name, in: &group)
            case .stop(let name): self.stop(name, in: &group)
            case .forget(let name): await self.forget(name)
            case .tell(let end, let stay):
                let (client, post) = (self.client, self.post)
                group.addTask {
                    let answer = await Answer.of(client, to: end, stay)
                    post.yield(.told(answer, stay: stay.number))
                }
            case .wake(let number, let pause): self.alarm = self.timer(.woke(number), after: pause)
            case .finish: self.isFinished = true
            }
        }
        if isSeen { await self.report(conductor) }
    }

    /// Keeps what the report is to say of why nothing is begun.
    private mutating func heed(_ notice: Notice) {
        switch notice {
        case .differs: self.hasOtherFile = true
        case .agrees: self.hasOtherFile = false
        case .trouble(let name, let why, _):
            self.trouble = "\(name.key) of \(name.state) cannot be run: \(why)"
        case .begun, .ended, .vanished: self.trouble = nil
        case .triedAgain, .interrupted, .interruptions, .unhandled, .refused, .untold,
            .hooksUnknown, .stateUnknown,
            .nothingToRun:
            break
        }
    }

    /// Writes the report beside the daemon's doors.
    private mutating func report(_ conductor: Conductor) async {
        self.hasReported = true
        let problem = self.report.write(
            conductor.record,
            self.tally,
            at: KernelClock().moment,
            present: self.present,
            blocked: self.unwritten?.description
                ?? (self.hasOtherFile
                    ? "the machine's file differs from what the daemon has loaded" : nil)
                    ?? self.trouble,
            left: await self.host.left
        )
        if let problem, problem != self.reportProblem { self.log.unseen(problem) }
        self.reportProblem = problem
    }

    /// Writes the record to the disk unless it is there; false if that is to be retried.
    private mutating func write(_ record: Record) -> Bool {
        // What happens meanwhile neither shortens nor lengthens the pause before it is retried.
        guard self.unwritten == nil || self.recordTimer == nil || self.isEnding else {
            return false
        }
        self.recordTimer = nil
        let label = self.configuration.label
        let text = "\(record.json(of: label))\n"
        guard let memory, text != self.written else { return true }
        do throws(RunnerError) {
            try memory.write(text)
            self.written = text
            self.recording.reset()
            self.unwritten = nil
            return true
        } catch {
            let pause = self.recording.next()
            self.log.unwritten(error, retryingIn: pause)
            self.unwritten = error
            guard !self.isEnding else { return true }
            self.recordTimer = self.timer(.recordDue, after: pause)
            return false
        }
    }

    private mutating func begin(
        _ order: CommandOrder,
        afresh: Bool,
        in group: inout TaskGroup<Void>
    ) {
        self.grace = order.command.stop
        let (host, post) = (self.host, self.post)
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        self.begun = begun
        group.addTask {
            defer { beginning.finish() }
            do throws(CommandHostError) {
                if afresh { try await host.forget(order.name) }
                try await host.start(order)
            } catch {
                post.yield(.failed(order.name, error, isStart: true))
                return
            }
            beginning.finish()
            await Self.tellEnd(of: order.name, at: host, post)
        }
    }

    private func await(_ name: CommandName, in group: inout TaskGroup<Void>) {
        let (host, post) = (self.host, self.post)
        group.addTask { await Self.tellEnd(of: name, at: host, post) }
    }

    private static func tellEnd(
        of name: CommandName,
        at host: any CommandHost,
        _ post: AsyncStream<RunnerEvent>.Continuation
    ) async {
        do throws(CommandHostError) {
            post.yield(.ended(name, try await host.end(of: name)))
        } catch {
            post.yield(.failed(name, error, isStart: false))
        }
    }

    private func stop(_ name: CommandName, in group: inout TaskGroup<Void>) {
        if self.isEnding {
            // It is given that time before SIGKILL and as long after it; systemd does both twice.
            let time = self.grace * 4 + Self.stopMargin
            self.tell { (manager) throws(NotifyError) in try manager.extendTimeout(by: time) }
        }
        let (host, post, log, begun) = (self.host, self.post, self.log, self.begun)
        group.addTask {
            // A command that is still being started cannot be stopped yet.
            if let begun { for await _ in begun {} }
            var trouble = GrowingPause()
            while !Task.isCancelled {
                do throws(CommandHostError) {
                    try await host.stop(name)
                    post.yield(.stopped(name, try await host.end(of: name)))
                    return
                } catch {
                    let pause = trouble.next()
                    log.trouble(error, retryingIn: pause)
                    do {
                        try await QuietClock().sleep(for: pause)
                    } catch {
                        // The process ends.
                        return
                    }
                }
            }
        }
    }

    private func forget(_ name: CommandName) async {
        do throws(CommandHostError) {
            try await self.host.forget(name)
        } catch {
            // It is a stray then, which the next start finds.
            self.log.unforgotten(name, error)
        }
    }

    /// A timer that posts an event, unless it is dropped first.
    private func timer(_ event: RunnerEvent, after pause: Duration) -> any Sendable {
        let post = self.post
        guard let timer = KernelClock().timer({ post.yield(event) }) else {
            // No descriptor is left; time in which the machine sleeps does not count then.
            return Alarm(after: pause, on: ContinuousClock()) { post.yield(event) }
        }
        timer.set(after: pause)
        return timer
    }

    private func tell(_ body: (ServiceNotifier) throws(NotifyError) -> Void) {
        do throws(NotifyError) {
            try body(self.notifier)
        } catch {
            self.log.unheard(error)
        }
    }
}

extension Answer {
    /// Tells the daemon how the run of a stay has ended.
    fileprivate static func of(
        _ client: Client,
        to end: RunEnd,
        _ stay: EnteredStay
    ) async -> Answer {
        do {
            // Without a limit: guards are asked, and holds may last.
            // With its numbering: this connection may reach another daemon than the one that began the stay.
            let stay = stay.cursor.map { ExpectedChange.cursor($0) } ?? .seq(stay.number)
            let reply = try await client.reply(
                to: .send(EventShape.endOfRun.name, data: end.data.members, ifStay: stay),
                within: nil
            )
            guard reply.isOK != true else { return reply.isHandled == false ? .unhandled : .taken }
            if reply.error == .conflict { return .late }
            return .refused(reply.error ?? .internal, message: reply.message ?? "")
        } catch {
            return .lost("\(error)")
        }
    }
}
