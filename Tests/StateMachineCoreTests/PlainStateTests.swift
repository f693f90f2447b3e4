import StateMachineCore
import TestSupport
import Testing

/// A state that is never shown to anybody: it only has to be comparable.
private enum Download: MachineState {
    case idle
    case running(percent: Int)
    case failed(any Error)

    static func == (left: Download, right: Download) -> Bool {
        switch (left, right) {
        case (.idle, .idle): true
        case (.running(let left), .running(let right)): left == right
        case (.failed(let left), .failed(let right)): "\(left)" == "\(right)"
        default: false
        }
    }
}

/// A state with names of its own, and rules that depend on its values.
private enum Lift: MachineState {
    case standing(floor: Int)
    case moving(from: Int, to: Int)

    enum Name: String { case standing, moving }

    var successors: Set<Name> { [.standing, .moving] }

    func mayBecome(_ next: Lift) -> Bool {
        switch (self, next) {
        case (.standing(let floor), .moving(let from, let to)): floor == from && from != to
        case (.moving(_, let to), .standing(let floor)): to == floor
        default: false
        }
    }
}

private struct Volume: MachineState {
    var percent: Int
}

private struct DiskFull: Error {}

@Suite(.bounded) struct PlainStateTests {
    @Test func aStateMayCarryAnyError() {
        let machine = StateMachine(Download.idle)
        machine.state = .running(percent: 40)
        machine.state = .failed(DiskFull())
        let seq = machine.snapshot.seq
        machine.state = .failed(DiskFull())
        #expect(machine.snapshot.seq == seq)
        guard case .failed(let error) = machine.state else {
            Issue.record("the machine is in \(machine.state)")
            return
        }
        #expect(error is DiskFull)
    }

    @Test func namesAreReadOffTheEnum() {
        #expect(Download.failed(DiskFull()).name == "failed")
        #expect(Download.idle.name == "idle")
        #expect(Download.running(percent: 1).successors == [.any])
        #expect(Lift.moving(from: 1, to: 2).name == .moving)
    }

    @Test func whoHearsOfSomeStatesNamesThemAsTheSourceDoes() {
        let machine = StateMachine(Download.idle)
        let heard = Lock<[String]>([])
        machine.addObserver(of: ["failed"]) { transition in
            heard.withLock { $0.append("\(transition.new.name.rawValue)") }
        }
        machine.state = .running(percent: 1)
        machine.state = .failed(DiskFull())
        #expect(heard.withLock { $0 } == ["failed"])
    }

    @Test func aRuleLooksAtTheValues() {
        let machine = StateMachine(Lift.standing(floor: 1))
        #expect(machine.can(.moving(from: 1, to: 3)))
        #expect(!machine.can(.moving(from: 2, to: 3)))
        #expect(throws: TransitionError<Lift>.self) { try machine.assign(.standing(floor: 2)) }
        machine.state = .moving(from: 1, to: 3)
        #expect(!machine.can(.standing(floor: 1)))
    }

    @Test func whatIsNoEnumIsCalledByItsType() {
        let machine = StateMachine(Volume(percent: 10))
        machine.state = Volume(percent: 20)
        #expect(machine.state.name == "Volume")
        #expect(machine.snapshot.seq == 1)
    }
}
