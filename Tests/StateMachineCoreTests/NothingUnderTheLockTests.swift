import Dispatch
import Glibc
import StateMachineCore
import TestSupport
import Testing

/// Contract 3 of `Delivery.md`: no client's code runs under a lock.
///
/// If it did, and took the lock again, it would never return; so each case runs in a process of its
/// own, which gives up after a while.
@Suite(.bounded) struct NothingUnderTheLockTests {
    @Test func whatASweptMemberHeldMayReadTheStateAsItGoes() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let machine = StateMachine<AppState>()
                let goings = Recorder<AppState>()
                leave(machine) { goings.record(machine.state) }
                machine.state = .ready(true)
                machine.state = .ready(false)
                guard goings.heard.count == 2 else { exit(3) }
            }
        }
    }

    @Test func whatASweptMemberHeldMayCancelARegistrationAsItGoes() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let machine = StateMachine<AppState>()
                let other = machine.addObserver { _ in }
                let goings = Recorder<Void>()
                leave(machine) {
                    other.cancel()
                    goings.record(())
                }
                machine.state = .ready(true)
                machine.state = .ready(false)
                guard goings.heard.count == 2 else { exit(3) }
            }
        }
    }

    @Test func aDelegateThatIsKeptMayReadTheStateAsItIsCancelled() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let machine = StateMachine<AppState>()
                let goings = Recorder<AppState>()
                let registration = {
                    let delegate = Going { goings.record(machine.state) }
                    return machine.addDelegate(delegate, retaining: true)
                }()
                machine.state = .ready(true)
                registration.cancel()
                guard goings.heard == [.ready(true)] else { exit(3) }
            }
        }
    }

    @Test func aContextMayReadTheStateWhenItIsAskedForItsIdentity() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let machine = StateMachine<AppState>()
                let context = WatchedContext(asked: { _ = machine.state })
                let listener = Listener()
                machine.addDelegate(listener, on: context)
                let registration = machine.addObserver(on: context) { _ in }
                machine.state = .ready(true)
                registration.cancel()
                machine.removeDelegate(listener, on: context)
                machine.state = .ready(false)
                guard listener.seqs == [1] else { exit(3) }
            }
        }
    }

    @Test func aClockMayReadTheStateWhenVotersAreAsked() async {
        await #expect(processExitsWith: .success) {
            withinAMinute {
                let place = Recorder<StateMachine<AppState>>()
                let machine = StateMachine<AppState> {
                    $0.clock = NosyClock { _ = place.heard.first?.state }
                }
                place.record(machine)
                machine.addVoter(label: "willing", on: .immediate) { $0.vote(.yes) }
                machine.propose(.ready(true), asking: Question(deadline: nil)) { _ in }
                guard machine.state == .ready(true) else { exit(3) }
            }
        }
    }
}

/// Releases two actors at once, each with something that the machine holds for it.
private func leave(_ machine: StateMachine<AppState>, going: @escaping @Sendable () -> Void) {
    let actors = [Passing(), Passing()]
    for actor in actors {
        let held = Going(going)
        machine.addDelegate(actor) { _, _ in withExtendedLifetime(held) {} }
    }
}

private actor Passing {}

/// Runs a closure when the last reference to it goes.
private final class Going: StateDelegate {
    private let going: @Sendable () -> Void

    init(_ going: @escaping @Sendable () -> Void) { self.going = going }

    func stateChanged(_ transition: Transition<AppState>) {}

    deinit { self.going() }
}

/// Runs a closure whenever it is asked for the time.
private struct NosyClock: Clock {
    let look: @Sendable () -> Void

    var now: ContinuousClock.Instant {
        self.look()
        return ContinuousClock().now
    }

    var minimumResolution: Duration { ContinuousClock().minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
}
