import Dispatch
import StateMachineCore
import TestSupport
import Testing

extension AppState {
    static func random(_ generator: inout SeededGenerator) -> AppState {
        let phase = Phase.allCases.randomElement(using: &generator) ?? .idle
        switch Name.allCases.randomElement(using: &generator) ?? .ready {
        case .ready: return .ready(Bool.random(using: &generator))
        case .authentication: return .authentication(phase)
        case .dataRetrieval: return .dataRetrieval(phase)
        }
    }
}

/// A listener that knows when its registration was cancelled, and what it must not hear after that.
private final class Walker: StateDelegate, @unchecked Sendable {
    let heard = Heard()
    let trespasses: Recorder<String>
    /// Its cancellation has begun; and after that, no call runs any more.
    let isEnding = Recorder<Void>()
    let isCancelled = Recorder<Void>()
    private let react: @Sendable (Transition<AppState>) -> Void

    init(
        _ trespasses: Recorder<String>,
        react: @escaping @Sendable (Transition<AppState>) -> Void
    ) {
        self.trespasses = trespasses
        self.react = react
    }

    func stateChanged(_ transition: Transition<AppState>) {
        if !self.isCancelled.heard.isEmpty { self.trespasses.record("called after cancel") }
        if let last = self.heard.heard.last {
            if last.seq + 1 != transition.seq { self.trespasses.record("a gap or a repetition") }
            if last.new != transition.old { self.trespasses.record("old is not the last new") }
        }
        self.heard.record(transition)
        self.react(transition)
    }
}

private actor Stage {}

/// Listeners that come and go on every kind of context, some of them inside callbacks.
private final class Walk: Sendable {
    struct Place: Sendable {
        let walker: Walker
        let registration: Registration
        let earliest: UInt64
        let latest: UInt64
    }

    let machine = StateMachine<AppState>()
    let trespasses = Recorder<String>()
    let places = Recorder<Place>()
    let answers = Recorder<Void>()
    let thread = NotificationThread(name: "walk")
    let actor = Stage()
    let contexts: [any ExecutionContext]

    init() {
        self.contexts = everyContext(with: self.thread)
    }

    func add(_ generator: inout SeededGenerator, depth: Int = 0) {
        let context = self.contexts.randomElement(using: &generator) ?? .immediate
        let seed = generator.next()
        let walker = Walker(self.trespasses) { [unowned self] transition in
            var generator = SeededGenerator(seed: seed &+ transition.seq)
            // If each of many listeners answered a few transitions, this would go on for ever.
            guard depth < 2, self.answers.heard.count < 200 else { return }
            self.answers.record(())
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: self.add(&generator, depth: depth + 1)
            case 1: self.cancel(&generator)
            case 2: self.machine.state = .random(&generator)
            default: break
            }
        }
        let earliest = self.machine.snapshot.seq
        // An actor is a context of its own kind.
        let registration =
            Int.random(in: 0...self.contexts.count, using: &generator) == 0
            ? self.machine.addDelegate(self.actor) { walker.stateChanged($1) }
            : self.machine.addDelegate(walker, on: context)
        let latest = self.machine.snapshot.seq
        self.places.record(
            Place(walker: walker, registration: registration, earliest: earliest, latest: latest)
        )
    }

    func cancel(_ generator: inout SeededGenerator) {
        guard let place = self.places.heard.randomElement(using: &generator) else { return }
        place.walker.isEnding.record(())
        place.registration.cancel()
        // Marked only when no call runs: one that runs may have begun before, and not checked yet.
        Task {
            await place.registration.cancelAndWait()
            place.walker.isCancelled.record(())
        }
    }
}

@Suite(.bounded) struct RandomWalkTests {
    @Test(arguments: [(2, 11), (3, 12), (4, 13), (8, 14)] as [(Int, UInt64)])
    func everybodyHearsEverySeqOnceInOneOrderUntilCancelled(setters: Int, seed: UInt64) async {
        let walk = Walk()
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<10 { walk.add(&generator) }
        await onThreads(setters) { index in
            var generator = SeededGenerator(seed: seed &* 1000 &+ UInt64(index))
            for _ in 0..<200 {
                switch Int.random(in: 0..<20, using: &generator) {
                case 0: walk.add(&generator)
                case 1: walk.cancel(&generator)
                default: walk.machine.state = .random(&generator)
                }
            }
        }
        // Callbacks may have set the state during the flush.
        var settled: UInt64 = .max
        while settled != walk.machine.snapshot.seq {
            settled = walk.machine.snapshot.seq
            await walk.machine.flush()
        }
        #expect(walk.trespasses.heard.isEmpty)
        var order: [UInt64: Transition<AppState>] = [:]
        for place in walk.places.heard {
            let heard = place.walker.heard.heard
            for transition in heard {
                #expect(order[transition.seq] ?? transition == transition)
                order[transition.seq] = transition
            }
            guard let first = heard.first, let last = heard.last else { continue }
            #expect(first.seq > place.earliest)
            #expect(first.seq <= place.latest + 1)
            if place.walker.isEnding.heard.isEmpty { #expect(last.seq == settled) }
        }
        walk.thread.stop()
    }

    @Test(arguments: [(2, 21), (4, 22), (8, 23)] as [(Int, UInt64)])
    func everyBallotEndsOnceAndItsVotersHaveHeardAllBefore(setters: Int, seed: UInt64) async {
        let machine = StateMachine<AppState>()
        let trespasses = Recorder<String>()
        let answers = DispatchQueue(label: "answers", attributes: .concurrent)
        let thread = NotificationThread(name: "voter")
        let contexts: [any ExecutionContext] = [
            .immediate, thread, .queue(DispatchQueue(label: "voter")),
            .queue(DispatchQueue(label: "voters", attributes: .concurrent)),
        ]
        var listeners: [Listener] = []
        for (index, context) in contexts.enumerated() {
            let listener = Listener()
            listeners.append(listener)
            machine.addDelegate(listener, on: context)
            let registrations = Recorder<Registration>()
            let asked = Recorder<Void>()
            registrations.record(
                machine.addVoter(label: "\(index)", on: context) { ask in
                    if listener.seqs.last ?? 0 != ask.proposal.current.seq {
                        trespasses.record("asked before it had heard")
                    }
                    asked.record(())
                    var generator = SeededGenerator(seed: seed &+ UInt64(asked.heard.count))
                    let draw = Int.random(in: 0..<20, using: &generator)
                    let answer: @Sendable () -> Void = {
                        switch draw {
                        case 0..<12: ask.vote(.yes)
                        case 12..<15: ask.vote(.abstain)
                        case 15..<17: ask.vote(.no("drawn"))
                        default: break  // let go of
                        }
                    }
                    if draw.isMultiple(of: 2) { answers.async(execute: answer) } else { answer() }
                    if draw == 19, index == 3 { registrations.heard.first?.cancel() }
                }
            )
        }
        let outcomes = Recorder<Result<UInt64, TransitionError<AppState>>>()
        await onThreads(setters) { index in
            var generator = SeededGenerator(seed: seed &* 1000 &+ UInt64(index))
            for _ in 0..<50 {
                machine.propose(
                    .random(&generator),
                    asking: Question(deadline: nil),
                    reenter: true
                ) { result in
                    outcomes.record(
                        result.map { acceptance in
                            switch acceptance {
                            case .committed(let transition): transition.seq
                            case .unchanged: 0
                            }
                        }
                    )
                }
            }
        }
        let all = await outcomes.wait(for: setters * 50)
        await machine.flush()
        #expect(all.count == setters * 50)
        let committed = all.compactMap { outcome -> UInt64? in
            switch outcome {
            case .success(let seq): return seq
            case .failure(let error):
                if case .denied = error.reason { return nil }
                trespasses.record("\(error)")
                return nil
            }
        }
        #expect(committed == (0..<machine.snapshot.seq).map { $0 + 1 })
        #expect(!committed.isEmpty)
        #expect(trespasses.heard.isEmpty)
        #expect(outcomes.heard.count == setters * 50)
        thread.stop()
    }

    @Test(arguments: [(2, 31), (4, 32), (8, 33)] as [(Int, UInt64)])
    func batchesAccountForEveryTransitionAndNeverLoseTheNewest(setters: Int, seed: UInt64) async {
        let machine = StateMachine<AppState>()
        let thread = NotificationThread(name: "target")
        let deliveries: [Delivery<UInt64>] = [
            .each, .latest, .latestPer { AnyHashable($0 % 5) },
            .batch(every: .milliseconds(1), atMost: 7), .paced(every: .milliseconds(1)),
            .settled(after: .microseconds(500)),
            .paced(every: .milliseconds(1), per: { AnyHashable($0 % 5) }),
            .settled(after: .microseconds(500), per: { AnyHashable($0 % 5) }),
        ]
        var posts: [(Registration, Recorder<Delivery<UInt64>.Batch>)] = []
        for context in everyContext(with: thread) {
            for delivery in deliveries {
                for selectsAtSource in [false, true] {
                    let batches = Recorder<Delivery<UInt64>.Batch>()
                    let receptionist = machine.addReceptionist(
                        on: context,
                        selecting: { $0.seq },
                        atSource: selectsAtSource,
                        delivering: delivery.limited(to: 3),
                        task: { batches.record($0) }
                    )
                    posts.append((receptionist, batches))
                }
            }
        }
        await onThreads(setters) { index in
            var generator = SeededGenerator(seed: seed &* 1000 &+ UInt64(index))
            for _ in 0..<100 { machine.state = .random(&generator) }
        }
        await machine.flush()
        let last = machine.snapshot.seq
        for (receptionist, batches) in posts {
            let all = await batches.wait { $0.last?.seqs.upperBound == last }
            #expect(all.last?.values.last == last)
            let accounted = all.reduce(0) { $0 + $1.values.count + $1.coalesced + $1.dropped }
            #expect(accounted == Int(last))
            #expect(all.first?.seqs.lowerBound == 1)
            #expect(
                zip(all, all.dropFirst()).allSatisfy {
                    $0.seqs.upperBound + 1 == $1.seqs.lowerBound
                }
            )
            receptionist.cancel()
        }
        thread.stop()
    }
}
