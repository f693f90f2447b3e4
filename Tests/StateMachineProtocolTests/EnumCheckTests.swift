import StateMachineCore
import StateMachineProtocol
import Testing

/// An enum's description of itself is checked against its cases.
@Suite struct EnumCheckTests {
    private enum Misspelt: EnumState {
        case open
        case locked(by: String)

        enum Name: String, CaseIterable { case open, loked }

        static var initial: Misspelt { .open }
    }

    private enum Short: EnumState {
        case open
        case locked(by: String)

        enum Name: String, CaseIterable { case open }

        static var initial: Short { .open }
    }

    private enum Renamed: EnumState {
        case open
        case locked(by: String)

        enum CodingKeys: String, CodingKey {
            case open = "unlocked"
            case locked = "shut"
        }

        enum Name: String, CaseIterable { case unlocked, shut }

        static var initial: Renamed { .open }
    }

    private enum HalfRenamed: EnumState {
        case open
        case locked(by: String)

        enum CodingKeys: String, CodingKey {
            case open = "unlocked"
            case locked
        }

        static var initial: HalfRenamed { .open }
    }

    private enum Successors: EnumState {
        case open
        case locked(by: String)

        static var initial: Successors { .open }
        var successors: Set<Name> { self == .open ? ["loked"] : ["open"] }
    }

    private enum Upgraded: EnumState {
        case open(guests: Int)
        case locked(by: String)

        static var initial: Upgraded { .open(guests: 0) }
        static var was: [String: [String]] {
            ["opne": ["free"], "open.customers": ["n"], "open": ["locked"]]
        }
    }

    @Test func whatAgreesHasNoProblems() {
        #expect(StateCoding<AppState>().problems.isEmpty)
        #expect(StateCoding<Job>().problems.isEmpty)
        #expect(StateCoding<Lamp>().problems.isEmpty)
        #expect(StateCoding<Renamed>().problems.isEmpty)
    }

    @Test func aNameThatIsNoCaseAndACaseWithoutOneAreNamed() {
        #expect(
            StateCoding<Misspelt>().problems == [
                "Name of Misspelt lists \"loked\", but no case is encoded under that name; did you mean locked?",
                "Misspelt has a case \"locked\" that Name does not list",
            ]
        )
        #expect(
            StateCoding<Short>().problems == [
                "Short has a case \"locked\" that Name does not list"
            ]
        )
    }

    @Test func aCaseThatIsEncodedUnderAnotherNameIsNamed() {
        #expect(
            StateCoding<HalfRenamed>().problems == [
                "CaseName<HalfRenamed> of HalfRenamed lists \"open\", but no case is encoded under that name"
            ]
        )
    }

    @Test func aSuccessorThatIsNoCaseIsNamed() {
        #expect(
            StateCoding<Successors>().problems == [
                "\"successors\" of Successors names \"loked\", which is not one of its cases; did you mean locked?"
            ]
        )
    }

    @Test func oldNamesOfWhatThereIsNotAndOfWhatThereIsAreNamed() {
        #expect(
            StateCoding<Upgraded>().problems == [
                "\"was\" of Upgraded names \"open.customers\", which it does not have; "
                    + "known: open, open.guests, locked, locked.by",
                "\"was\" of Upgraded names \"opne\", which it does not have; did you mean open?",
                "\"was\" of Upgraded says that \"open\" was called \"locked\", which is still a state",
            ]
        )
    }
}
