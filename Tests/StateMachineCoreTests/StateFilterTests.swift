import StateMachineCore
import TestSupport
import Testing

/// Listeners that ask for certain states hear of exactly those, whatever the type of the states.
@Suite struct StateFilterTests {
    /// Not an enum, and called after its value.
    private struct Level: MachineState {
        enum Name: String, CaseIterable { case low, high }

        var value: Int
        var name: Name { self.value < 10 ? .low : .high }
        var successors: Set<Name> { Set(Name.allCases) }
    }

    @Test func aStructIsAskedForItsNameEachTime() {
        let machine = StateMachine(resuming: Snapshot(seq: 0, state: Level(value: 0), at: .now))
        let heard = Recorder<Int>()
        let registration = machine.addObserver(of: [.high]) { heard.record($0.new.value) }
        for value in [1, 10, 2, 11, 12, 3] { machine.state = Level(value: value) }
        #expect(heard.heard == [10, 11, 12])
        registration.cancel()
    }

    /// An enum that defines its names itself, not by its cases.
    private enum Lamp: MachineState {
        case lit(percent: Int)
        case dark

        enum Name: String, CaseIterable { case bright, dim, dark }

        var name: Name {
            switch self {
            case .lit(let percent): percent < 50 ? .dim : .bright
            case .dark: .dark
            }
        }
        var successors: Set<Name> { Set(Name.allCases) }
    }

    @Test func anEnumWhoseNamesAreNotItsCasesIsAskedEachTime() {
        let machine = StateMachine<Lamp>(resuming: Snapshot(seq: 0, state: .dark, at: .now))
        let heard = Recorder<Lamp>()
        let registration = machine.addObserver(of: [.dim]) { heard.record($0.new) }
        for percent in [80, 20, 90, 30] { machine.state = .lit(percent: percent) }
        #expect(heard.heard == [.lit(percent: 20), .lit(percent: 30)])
        registration.cancel()
    }
}
