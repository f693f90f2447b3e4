import Dispatch
import Glibc
import StateMachineTesting
import TestSupport
import Testing

@testable import StateMachineCore

/// Where what was done differed from what is promised, in corners.
@Suite(.bounded) struct CoreDefectsTests {
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
