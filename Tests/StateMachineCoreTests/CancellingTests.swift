import Dispatch
import Glibc
import TestSupport
import Testing

@testable import StateMachineCore

/// Who is cancelled is called no more, and who waits for that is told when the last call has ended.
@Suite(.bounded) struct CancellingTests {
    @Test func whatACancelledRegistrationWouldHaveBegunWithMayCallTheMachineAsItGoes() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let queue = DispatchQueue(label: "suspended")
                let machine = StateMachine<Errand>(.idle)
                let kept = machine.addReceptionist(
                    on: .queue(queue),
                    selecting: { $0.seq },
                    delivering: .settled(after: .seconds(60))
                ) { _ in }
                let goings = Recorder<Int>()
                machine.state = .running(
                    Load { [weak machine] in
                        goings.record(machine?.responders(to: Errand.idle.name) ?? -1)
                    }
                )
                for _ in 0..<4 { queue.sync {} }
                queue.suspend()
                machine.addObserver(on: .queue(queue), starting: .current) { _ in }.cancel()
                kept.flush()
                machine.state = .idle
                machine.state = .done
                machine.state = .idle
                queue.resume()
                for _ in 0..<4 { queue.sync {} }
                guard goings.heard == [1] else { exit(3) }
            }
        }
    }

    @Test func aReceptionistThatIsClosedInItsTaskIsCalledNoMore() async {
        let queue = DispatchQueue(label: "suspended")
        let calls = Recorder<Int>()
        let place = Recorder<EventReceptionist<Int>>()
        let receptionist = EventReceptionist<Int>(on: .queue(queue)) { batch in
            calls.record(batch.values.count)
            place.heard.first?.close()
        }
        place.record(receptionist)
        queue.suspend()
        for event in 0..<10 { receptionist.receive(event) }
        queue.resume()
        await passed(queue)
        #expect(calls.heard == [1])
    }

    @Test(arguments: [false, true])
    func aReceptionistThatIsCancelledInItsTaskIsCalledNoMore(atSource: Bool) async {
        let queue = DispatchQueue(label: "suspended")
        let calls = Recorder<[Bool]>()
        let place = Recorder<Registration>()
        let machine = StateMachine<AppState>()
        // Paced, so that one turn has two to deliver: the first at once, and what a flush brings.
        let registration = machine.addReceptionist(
            on: .queue(queue),
            selecting: { $0.new == .ready(true) },
            atSource: atSource,
            delivering: atSource ? .each : .paced(every: .seconds(3600)),
            task: { batch in
                calls.record(batch.values)
                place.heard.first?.cancel()
            }
        )
        place.record(registration)
        queue.suspend()
        machine.churn(10)
        registration.flush()
        queue.resume()
        await passed(queue)
        await passed(queue)
        #expect(calls.heard == [[true]])
    }

    @Test(arguments: [false, true], [false, true])
    func whoCancelsAgainWaitsForTheTaskThatStillRuns(atSource: Bool, cancelledBefore: Bool) async {
        let machine = StateMachine<AppState>()
        let events = Recorder<String>()
        let gate = TestSupport.Gate()
        let registration = machine.addReceptionist(
            on: .queue(DispatchQueue(label: "slow")),
            selecting: { $0.seq },
            atSource: atSource,
            task: { _ in
                events.record("begun")
                gate.pass()
                events.record("ended")
            }
        )
        machine.state = .ready(true)
        await events.wait(for: 1)
        if cancelledBefore { registration.cancel() }
        await begin("cancelled", in: events) { await registration.cancelAndWait() }
        gate.open()
        #expect(await events.wait(for: 3) == ["begun", "ended", "cancelled"])
    }

    @Test func cancellingALimitOfAStayWaitsForWhatItBecomesAndKeepsThatFromHappening() async {
        let machine = StateMachine<AppState>(.authentication(.active))
        let events = Recorder<String>()
        let gate = TestSupport.Gate()
        let registration = machine.after(.milliseconds(1), in: .authentication) { _ in
            events.record("begun")
            gate.pass()
            events.record("became")
            return .dataRetrieval(.failure)
        }
        await events.wait(for: 1)
        await begin("cancelled", in: events) { await registration.cancelAndWait() }
        gate.open()
        #expect(await events.wait(for: 3) == ["begun", "became", "cancelled"])
        #expect(machine.state == .authentication(.active))
    }

    @Test func cancellingATaskOfAStayWaitsForItThoughTheMachineGoesMeanwhile() async {
        let events = Recorder<String>()
        let (registration, release) = await working(events)
        await events.wait { $0.contains("cancelled") }
        await begin("waited", in: events) { await registration.cancelAndWait() }
        release.record(())
        #expect(await returns { await events.wait(for: 4) })
        #expect(events.heard == ["begun", "cancelled", "ended", "waited"])
    }

    @Test func whoCancelsATaskOfAStayIsToldThoughTheMachineGoesMeanwhile() async {
        let events = Recorder<String>()
        let begun = Recorder<Registration>()
        let release = Recorder<Void>()
        await {
            let machine = StateMachine<AppState>(.ready(true))
            begun.record(work(in: machine, events, until: release))
            await events.wait(for: 1)
            Task.immediate {
                await begun.heard.first?.cancelAndWait()
                events.record("waited")
            }
            await events.wait(for: 2)
        }()
        await others()
        release.record(())
        #expect(await returns { await events.wait(for: 4) })
        #expect(events.heard == ["begun", "cancelled", "ended", "waited"])
    }
}

/// A state that holds what runs a closure when it goes.
private enum Errand: MachineState {
    case idle
    case running(Load)
    case done

    static func == (left: Errand, right: Errand) -> Bool {
        switch (left, right) {
        case (.idle, .idle), (.done, .done): true
        case (.running(let left), .running(let right)): left === right
        case (.idle, _), (.running, _), (.done, _): false
        }
    }
}

private final class Load: Sendable {
    private let going: @Sendable () -> Void

    init(going: @escaping @Sendable () -> Void) { self.going = going }

    deinit { self.going() }
}

/// Begins a task of the present stay that ends when it is released, and not when it is cancelled.
private func work(
    in machine: StateMachine<AppState>,
    _ events: Recorder<String>,
    until release: Recorder<Void>
) -> Registration {
    machine.during(.ready) { _ in
        events.record("begun")
        await withTaskCancellationHandler {
            _ = await release.wait(for: 1)
        } onCancel: {
            events.record("cancelled")
        }
        events.record("ended")
    }
}

/// As ``work(in:_:until:)``, of a machine that is gone by then.
private func working(
    _ events: Recorder<String>
) async -> (registration: Registration, release: Recorder<Void>) {
    let release = Recorder<Void>()
    let machine = StateMachine<AppState>(.ready(true))
    let registration = work(in: machine, events, until: release)
    await events.wait(for: 1)
    return (registration, release)
}
