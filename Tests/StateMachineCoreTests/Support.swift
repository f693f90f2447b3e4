import Dispatch
import Glibc
import TestSupport

@testable import StateMachineCore

typealias Heard = Recorder<Transition<AppState>>

/// A delegate that records what it hears, and then does what the test wants.
final class Listener: StateDelegate {
    let heard: Heard
    let missed = Recorder<Int>()
    private let react: @Sendable (Transition<AppState>) -> Void

    init(
        _ heard: Heard = Heard(),
        react: @escaping @Sendable (Transition<AppState>) -> Void = { _ in }
    ) {
        self.heard = heard
        self.react = react
    }

    var seqs: [UInt64] { self.heard.heard.map(\.seq) }

    func stateChanged(_ transition: Transition<AppState>) {
        self.heard.record(transition)
        self.react(transition)
    }

    func transitionsMissed(_ count: Int, now: Snapshot<AppState>) { self.missed.record(count) }
}

/// A machine whose states may only be entered in sequence; one of them carries a number.
enum Door: EnumState {
    case closed
    case open(Int)
    case locked

    enum Name: String, CaseIterable {
        case closed
        case open
        case locked
    }

    static var initial: Door { .closed }
    static var examples: [Door] { [.closed, .open(0), .locked] }

    var successors: Set<Name> {
        switch self {
        case .closed: [.open, .locked]
        case .open: [.closed, .open]
        case .locked: [.closed]
        }
    }
}

/// The contexts on which every guarantee has to hold.
enum Place: String, CaseIterable, Sendable {
    case immediate
    case serialQueue
    case concurrentQueue

    var context: any ExecutionContext {
        switch self {
        case .immediate: .immediate
        case .serialQueue: .queue(DispatchQueue(label: "serial"))
        case .concurrentQueue: .queue(DispatchQueue(label: "concurrent", attributes: .concurrent))
        }
    }
}

extension StateMachine where State == AppState {
    /// Makes `count` transitions, each different from the one before.
    func churn(_ count: Int) {
        for step in 0..<count { self.state = .ready(step.isMultiple(of: 2)) }
    }
}

extension StateMachine where State: EnumState {
    /// A new machine with options of a test's own.
    convenience init(_ change: (inout Options) -> Void) {
        var options = Options()
        change(&options)
        self.init(options: options)
    }
}

/// Each kind of context there is, the thread among them.
func everyContext(with thread: NotificationThread) -> [any ExecutionContext] {
    [
        .immediate, thread, .queue(DispatchQueue(label: "serial")), .queue(.global()),
        .queue(DispatchQueue(label: "concurrent", attributes: .concurrent)),
    ]
}

/// A queue that runs nothing until it is opened, so that what is sent to it accumulates.
struct HeldQueue {
    let queue = DispatchQueue(label: "held")
    private let gate = TestSupport.Gate()

    init() {
        self.queue.async { [gate] in gate.pass() }
    }

    var context: any ExecutionContext { .queue(self.queue) }

    func open() { self.gate.open() }
}

/// Waits until the queue has run what was sent to it.
func passed(_ queue: DispatchQueue) async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
}

/// A context that calls a test whenever its identity is asked for, and whenever it is woken.
final class WatchedContext: ExecutionContext {
    /// Whether the present thread is taken for its own; nil: it cannot tell.
    let isCurrent: Bool?
    private let asked: @Sendable () -> Void
    private let woken: @Sendable (_ job: @escaping @Sendable () -> Void) -> Void

    /// Unless `woken` does something else with them, it runs jobs at once.
    init(
        isCurrent: Bool? = nil,
        woken: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Void = { $0() },
        asked: @escaping @Sendable () -> Void = {}
    ) {
        self.isCurrent = isCurrent
        self.asked = asked
        self.woken = woken
    }

    var identity: ObjectIdentifier {
        self.asked()
        return ObjectIdentifier(self)
    }

    func enqueue(_ job: @escaping @Sendable () -> Void) { self.woken(job) }
}

/// Runs `body` on that many threads at once and waits, without blocking a thread, until all return.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        for index in 0..<count {
            group.addTask {
                await withCheckedContinuation { continuation in
                    let queue = DispatchQueue(label: "setter \(index)")
                    queue.async {
                        body(index)
                        continuation.resume()
                    }
                }
            }
        }
    }
}

/// Ends the process as a failure if `body` does not return.
func withinAMinute(_ body: @escaping @Sendable () -> Void) {
    let hasReturned = DispatchSemaphore(value: 0)
    DispatchQueue(label: "may hang").async {
        body()
        hasReturned.signal()
    }
    if hasReturned.wait(timeout: .now() + 60) == .timedOut { exit(2) }
}

/// A log that commits nothing.
final class FullLog: WriteAheadLog {
    func commit(
        _ group: [Transition<AppState>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) { done("the disk is full") }
}

/// A log that commits when a test says so.
final class PatientLog<State: MachineState>: WriteAheadLog {
    struct Group: Sendable {
        let transitions: [Transition<State>]
        let done: @Sendable (_ failure: String?) -> Void
    }

    let groups = Recorder<Group>()

    func commit(
        _ group: [Transition<State>],
        done: @escaping @Sendable (_ failure: String?) -> Void
    ) { self.groups.record(Group(transitions: group, done: done)) }

    /// Commits a group, the first being 0.
    func finish(_ group: Int, failure: String? = nil) { self.groups.heard[group].done(failure) }
}

// The engine, by its typed face.

extension StateMachine {
    func follow(
        on context: any ExecutionContext,
        burstEnd: (@Sendable () -> Void)? = nil,
        _ task: @escaping @Sendable (Transition<State>) -> Void
    ) -> (registration: Registration, cursor: Drain, start: StateMachineCore.Place) {
        self.machine.follow(on: context, burstEnd: burstEnd) { task(Transition($0)) }
    }
}

extension Ask {
    var proposal: Proposal<AppState> { Proposal(self.motion) }
}

extension StateMachine {
    /// A voter that keeps its questions.
    @discardableResult
    func addVoter(
        label: String,
        on context: any ExecutionContext,
        deadline: VoteDeadline? = nil,
        before isAsked: @escaping @Sendable (Proposal<State>) -> Bool = { _ in true },
        _ body: @escaping @Sendable (Ask) -> Void
    ) -> Registration {
        self.machine.addVoter(
            .init(label: label, deadline: deadline),
            on: context,
            before: { isAsked(Proposal($0)) },
            body
        )
    }
}

extension StateMachine {
    /// Proposes a state; `completion` is called with what became of it, once: before this returns if there is nobody
    /// to wait for.
    func propose(
        _ new: State,
        asking question: Question = Question(),
        expecting isExpected: (@Sendable (Snapshot<State>) -> Bool)? = nil,
        reenter: Bool = false,
        cause: String? = nil,
        completion: @escaping @Sendable (Result<Acceptance, TransitionError<State>>) -> Void
    ) {
        let move = Self.move(to: new, expecting: isExpected, reenter: reenter, cause: cause)
        self.machine.begin(move, asking: question) { answer in
            completion(Result { () throws(TransitionError<State>) in try Acceptance(answer) })
        }
    }
}

extension StateMachine.Heard {
    var seq: UInt64 {
        switch self {
        case .current(let snapshot), .missed(_, let snapshot): snapshot.seq
        case .change(let transition): transition.seq
        }
    }

    /// The change, if it is one.
    var change: Transition<State>? {
        switch self {
        case .change(let transition): transition
        case .current, .missed: nil
        }
    }
}

/// Lets other tasks run for a while: what is to come later has the time to come too early.
func others() async {
    for _ in 0..<1000 { await Task.yield() }
}

/// Begins what is recorded when it has ended, and lets other tasks run.
func begin(
    _ what: String,
    in events: Recorder<String>,
    _ body: @escaping @Sendable () async -> Void
) async {
    Task.immediate {
        await body()
        events.record(what)
    }
    await others()
}

/// Whether `body` returns; left behind after a minute if it does not.
func returns(_ body: @escaping @Sendable () async -> Void) async -> Bool {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    Task {
        await body()
        end.yield(true)
    }
    let limit = Task {
        try await Task.sleep(for: .milliseconds(Int(longestWait)))
        end.yield(false)
    }
    defer { limit.cancel() }
    for await hasReturned in ends { return hasReturned }
    return false
}
