import Foundation
import StateMachineCore
import StateMachineProtocol
import Testing

/// An enum's description of itself is checked against its cases.
@Suite struct ExamplesTests {
    private enum Misspelt: EnumState {
        case open
        case locked(by: String)

        enum Name: String, CaseIterable { case open, loked }

        static var initial: Misspelt { .open }
        static var examples: [Misspelt] { [.open, .locked(by: "")] }
    }

    private enum Short: EnumState {
        case open
        case locked(by: String)

        enum Name: String, CaseIterable { case open }

        static var initial: Short { .open }
        static var examples: [Short] { [.open, .locked(by: "")] }
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
        static var examples: [Renamed] { [.open, .locked(by: "")] }
    }

    private enum HalfRenamed: EnumState {
        case open
        case locked(by: String)

        enum CodingKeys: String, CodingKey {
            case open = "unlocked"
            case locked
        }

        static var initial: HalfRenamed { .open }
        static var examples: [HalfRenamed] { [.open, .locked(by: "")] }
    }

    private enum Successors: EnumState {
        case open
        case locked(by: String)

        static var initial: Successors { .open }
        static var examples: [Successors] { [.open, .locked(by: "")] }
        var successors: Set<Name> { self == .open ? ["loked"] : ["open"] }
    }

    private enum Upgraded: EnumState {
        case open(guests: Int)
        case locked(by: String)

        static var initial: Upgraded { .open(guests: 0) }
        static var examples: [Upgraded] { [.open(guests: 0), .locked(by: "")] }
        static var was: [String: [String]] {
            ["opne": ["free"], "open.customers": ["n"], "open": ["locked"]]
        }
    }

    private enum Unshown: EnumState {
        case open
        case locked(by: String)
        case ajar

        static var initial: Unshown { .open }
        static var examples: [Unshown] { [.open] }
    }

    private enum Bare: EnumState {
        case open(Guest?)

        struct Guest: Hashable, Codable { var name: String }

        static var initial: Bare { .open(nil) }
        static var examples: [Bare] { [.open(nil)] }
    }

    private enum Forgetful: EnumState {
        case open(by: Guest)

        struct Guest: Hashable, Codable {
            var name: String

            init(name: String) { self.name = name }
            init(from decoder: any Decoder) throws { self.name = "" }
        }

        static var initial: Forgetful { .open(by: Guest(name: "")) }
        static var examples: [Forgetful] { [.open(by: Guest(name: "ann"))] }
    }

    private enum Numbered: Int, EnumState {
        case one

        static var initial: Numbered { .one }
        static var examples: [Numbered] { [.one] }
    }

    private enum Dated: EnumState {
        case open(since: Date, ratio: Double)

        static var initial: Dated { .open(since: Date(timeIntervalSince1970: 0), ratio: 0) }
        // More exact than the wire is.
        static var examples: [Dated] {
            [.open(since: Date(timeIntervalSince1970: 1.000_000_4), ratio: 0.1)]
        }
    }

    private enum Raw: String, EnumState {
        case off

        static var initial: Raw { .off }
        static var examples: [Raw] { [.off] }
    }

    private enum Silent: EnumState {
        case open

        static var initial: Silent { .open }
        static var examples: [Silent] { [] }
    }

    private static let problems: [(found: [String], expected: [String])] = [
        // What agrees; an example may be more exact than the wire.
        (StateCoding<AppState>().problems, []), (StateCoding<Job>().problems, []),
        (StateCoding<Lamp>().problems, []), (StateCoding<Renamed>().problems, []),
        (StateCoding<HalfRenamed>().problems, []), (StateCoding<Dated>().problems, []),
        (
            StateCoding<Unshown>().problems,
            [
                "Unshown has a case \"locked\" that its examples do not show",
                "Unshown has a case \"ajar\" that its examples do not show",
            ]
        ),
        (
            StateCoding<Bare>().problems,
            [
                #"no example of Bare has a value of "value" in "open", so its type is unknown; add one that has"#
            ]
        ),
        (
            StateCoding<Silent>().problems,
            [
                "Silent has no examples",
                "Silent has a case \"open\" that its examples do not show",
            ]
        ),
        (
            StateCoding<Misspelt>().problems,
            [
                "Name of Misspelt lists \"loked\", but no example is encoded under that name; did you mean locked?",
                "Misspelt has a case \"locked\" that Name does not list",
            ]
        ),
        (
            StateCoding<Short>().problems,
            ["Short has a case \"locked\" that Name does not list"]
        ),
        (
            StateCoding<Successors>().problems,
            [
                "\"successors\" of Successors names \"loked\", which is not one of its cases; did you mean locked?"
            ]
        ),
        (
            StateCoding<Upgraded>().problems,
            [
                "\"was\" of Upgraded names \"open.customers\", which it does not have; "
                    + "known: open, open.guests, locked, locked.by",
                "\"was\" of Upgraded names \"opne\", which it does not have; did you mean open?",
                "\"was\" of Upgraded says that \"open\" was called \"locked\", which is still a state",
            ]
        ),
    ]

    @Test(arguments: problems)
    func whatDoesNotAgreeIsNamed(found: [String], expected: [String]) {
        #expect(found == expected)
    }

    @Test func anExampleThatCannotBeReadOrIsReadAsAnotherIsNamed() {
        let forgetful = StateCoding<Forgetful>().problems.first
        let another = "of Forgetful is another state when it is read from what it encodes"
        #expect(forgetful?.hasSuffix(another) == true)
        let raw = StateCoding<Raw>().problems.first
        let unread = "the example off of Raw cannot be read from what it encodes: "
        #expect(raw?.hasPrefix(unread) == true)
        #expect(
            StateCoding<Numbered>().problems.first
                == "an example of Numbered does not encode which case it is: it is encoded without a key"
        )
    }

    @Test func aCaseIsCalledAsItIsEncoded() {
        #expect(StateCoding<HalfRenamed>().named(.open).name == "unlocked")
    }
}
