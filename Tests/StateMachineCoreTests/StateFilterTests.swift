import StateMachineCore
import TestSupport
import Testing

/// Listeners that ask for certain states hear of exactly those, whatever the type of the states.
@Suite struct StateFilterTests {
    /// Not an enum, so a value's name cannot be found by its case.
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

    /// More cases than a member remembers.
    private enum Wide: String, EnumState {
        case a00, a01, a02, a03, a04, a05, a06, a07, a08, a09, a10, a11, a12, a13, a14, a15, a16,
            a17
        case a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34,
            a35
        case a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52,
            a53
        case a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, a65, a66, a67, a68, a69, a70,
            a71

        static var initial: Wide { .a00 }
        static var examples: [Wide] { Self.all }
        static let all = (0..<72).compactMap { Wide(rawValue: $0 < 10 ? "a0\($0)" : "a\($0)") }
    }

    @Test func allOfMoreThanSixtyFourCasesAreToldApart() {
        let machine = StateMachine<Wide>()
        let heard = Recorder<Wide>()
        let wanted: [Wide] = [.a00, .a31, .a63, .a64, .a71]
        let registration = machine.addObserver(of: Set(wanted.map(\.name))) {
            heard.record($0.new)
        }
        #expect(Wide.all.count == 72)
        for _ in 0..<2 { for state in Wide.all { machine.state = state } }
        // The first one is already the state.
        #expect(heard.heard == wanted.dropFirst() + wanted)
        registration.cancel()
    }

    /// For more types than the table of names has adjacent places, used by several threads at once.
    private enum Numbered<Tag>: EnumState {
        case first
        case second(Int)
        static var initial: Self { .first }
        static var examples: [Self] { [.first, .second(0)] }
    }

    private enum Outer<Inner> {}

    /// In a process of its own, because it fills the table.
    @Test func manyTypesNamedByManyThreadsKeepTheirNames() async {
        await #expect(processExitsWith: .success) {
            let right = await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        Self.named(Int.self, depth: 299) + Self.named(Int.self, depth: 299)
                    }
                }
                return await group.reduce(0, +)
            }
            try #require(right == 4 * 2 * 300)
        }
    }

    /// Counts the types with the right names, each type made of the one before.
    private static func named<Tag>(_: Tag.Type, depth: Int) -> Int {
        let isRight =
            Numbered<Tag>.first.name == "first" && Numbered<Tag>.second(depth).name == "second"
            && Numbered<Tag>.first.successors == ["first", "second"]
        return (isRight ? 1 : 0)
            + (depth == 0 ? 0 : Self.named(Outer<Tag>.self, depth: depth - 1))
    }
}
