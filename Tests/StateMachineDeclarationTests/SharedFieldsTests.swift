import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

/// The fields of the machine, which every state has and every move carries.
@Suite struct SharedFieldsTests {
    private static let text = """
        start: idle owner=eva
        lost: [{if: "runs>=2, note=tired", to: off owner=max}, {if: "!note", to: busy load=1 owner=none}, idle owner=nobody]
        fields:
          owner: {type: string, was: user}
          runs: {type: integer, default: 0, max: 3}
          note: {type: string, optional: true}
        events:
          go: {}
          give: {owner: string}
          count: {}
        states:
          idle: {when: {go: [busy runs+=1, ignore], give: keep, count: [keep runs+=1, ignore]}, to: [busy]}
          busy:
            to: [busy]
            fields: {load: {type: integer, default: 5}}
            when: {go: idle note=done}
            after: {1min: idle}
          off: {to: any}
        """

    private let machine: Declaration

    init() throws { self.machine = try declaration(Self.text) }

    private func played(_ trace: String, on machine: Declaration? = nil) throws -> String {
        do {
            return try Trace(trace).run(on: machine ?? self.machine).written
        } catch {
            return error.text(in: "t")
        }
    }

    @Test(arguments: [
        ("", "idle owner=eva runs=0"),
        ("send go", "busy load=5 owner=eva runs=1"),
        ("send go\nsend go", "idle owner=eva runs=1 note=done"),
        ("send go\nwait 1min", "idle owner=eva runs=1"),
        ("send give owner=max\nsend go", "busy load=5 owner=max runs=1"),
        // A set carries them too, unless it gives another value.
        ("send give owner=max\nset busy load=7", "busy load=7 owner=max runs=0"),
        ("set busy owner=max note=x\nset busy load=1", "busy load=1 owner=max runs=0 note=x"),
        ("set busy runs=3\nsend go\nsend go", "idle owner=eva runs=3 note=done"),
        ("update note=x\nupdate runs+=2 note:=null\nset busy", "busy load=5 owner=eva runs=2"),
        ("set busy runs=4 -> refused", "idle owner=eva runs=0"),
        // Null says that an optional one is to be absent.
        ("update note=x\nset busy note:=null", "busy load=5 owner=eva runs=0"),
        (
            "update runs+=1 runs+=1 -> refused\nset busy runs=1 runs=2 -> refused",
            "idle owner=eva runs=0"
        ),
    ])
    func everyMoveCarriesThem(trace: String, expected: String) throws {
        #expect(try self.played(trace) == expected)
    }

    @Test func whatAClientSetsHasThemFromWhereItIsSet() throws {
        let wanted = try self.machine.state("busy", data: [])
        #expect(wanted.written == "busy load=5")
        let place = Place(
            seq: 3,
            value: TypedValue(
                try self.machine.state(
                    "idle",
                    data: [JSONMember("owner", "max"), JSONMember("runs", 2)]
                )
            ),
            at: WallTime(microseconds: 0),
            stay: 3
        )
        let set = try self.machine.restated(TypedValue(wanted), at: place)
        #expect(
            (TypedValue.state(of: set) as DeclaredState).written == "busy load=5 owner=max runs=2"
        )
        // By another file, what was given stays, also where it is what the other would have without.
        let next = try declaration(Self.text.replacing("runs+=1", with: "runs=1"))
        let given = try self.machine.state("busy", data: [JSONMember("runs", 0)])
        let elsewhere = Place(
            seq: 3,
            value: TypedValue(
                try next.state("idle", data: [JSONMember("owner", "max"), JSONMember("runs", 2)])
            ),
            at: WallTime(microseconds: 0),
            stay: 3
        )
        let restated = try self.machine.restated(TypedValue(given), at: elsewhere)
        #expect(
            (TypedValue.state(of: restated) as DeclaredState).written
                == "busy load=5 owner=max runs=0"
        )
    }

    @Test func theyAreCarriedOverByName() throws {
        let carried = try self.machine.carried(
            NamedState("off", [JSONMember("user", "max"), JSONMember("runs", 1)])
        )
        #expect(carried.written == "off owner=max runs=1")
        // Where the state is gone they go along as well; a value that no longer fits does not.
        let states = [
            [JSONMember("owner", "max"), JSONMember("runs", 2), JSONMember("note", "a")],
            [JSONMember("owner", "max"), JSONMember("runs", 2), JSONMember("note", "tired")],
            [JSONMember("user", "eva"), JSONMember("runs", 9), JSONMember("note", 1)],
        ].map { self.machine.schema.lost($0) }
        #expect(
            states.map { $0.map { (TypedValue.state(of: $0) as DeclaredState).written } } == [
                "idle owner=nobody runs=2 note=a", "off owner=max runs=2 note=tired",
                "busy load=1 owner=none runs=0",
            ]
        )
        let none = try declaration(Self.text.replacing(/\n *lost:.*/, with: ""))
        #expect(none.schema.lost([]) == nil)
    }

    @Test func patternsOfAGroupFollowThem() throws {
        let text = Self.text + "\ngroups: {all: {states: [idle, busy, off]}}"
        let schema = try declaration(text).schema
        for written in ["all:user=max", "all:user!=max"] {
            let pattern = try schema.resolved(Pattern(writing: .string(written)), isOld: true)
            let state = try schema.value("off", data: ["owner": "max"])
            #expect(schema.matches(pattern, state) == !written.contains("!"))
            #expect(throws: WireError.self) {
                try schema.resolved(Pattern(writing: .string(written)))
            }
        }
    }

    @Test func everyStateHasThemLast() throws {
        let states = try #require(self.machine.described["states"]?.elements)
        #expect(
            states.map { ($0["fields"]?.members ?? []).map(\.key) } == [
                ["owner", "runs", "note"], ["load", "owner", "runs", "note"],
                ["owner", "runs", "note"],
            ]
        )
    }
}
