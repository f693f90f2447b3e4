import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

/// Who may do what: how a file says it, and what a trace makes of it.
@Suite struct RightsTests {
    private static func read(
        _ text: String,
        _ accounts: AccountLookup = .none
    ) -> DeclarationReading {
        DeclarationReading(Array(text.utf8), accounts: accounts)
    }

    private static func problems(_ text: String, _ accounts: AccountLookup = .none) -> [String] {
        self.read(text, accounts).problems.map { $0.line(in: "f") }
    }

    private static let wrong: [(text: String, problem: String)] = [
        ("by: root", #"f:3:5: "by" must be a list; write [root]"#),
        ("by: any", #"f:3:5: "by" must be a list; write [any]"#),
        ("by:", #"f:3:4: "by" must be a list; write [root]"#),
        ("by: {a: b}", #"f:3:5: "by" must be a list, not a map"#),
        ("by: [[a]]", #"f:3:6: "by" must be a list of names, but this is a list"#),
        (#"by: [""]"#, #"f:3:6: a name is empty; name a user, a group like "@operators", or any"#),
        (#"by: ["@"]"#, #"f:3:6: "@" names no group; write its name behind it, like "@operators""#),
        (#"by: ["a b"]"#, #"f:3:6: "a b" is not the name of a user or a group"#),
        (#"by: ["a:b"]"#, #"f:3:6: "a:b" is not the name of a user or a group"#),
        ("by: [@ops]", #"f:3:6: a text that begins with @ needs quotes; write "@operators""#),
        ("by:\n  - @ops", #"f:4:5: a text that begins with @ needs quotes; write "@operators""#),
        (
            "by: []",
            #"f:3:5: warning: "by" is empty, so only root may; write [root] if that is meant"#
        ),
        (
            "by: [root, any]",
            #"f:3:12: warning: "any" lets everybody in, so that the other names mean nothing; remove it, or them"#
        ),
        (
            "events: {e: {by: []}}\n",
            #"f:3:18: warning: "by" is empty, so only root may; write [root] if that is meant"#
        ),
    ]

    @Test(arguments: wrong) func whatIsWrongIsSaidWhereItStands(text: String, problem: String) {
        let file = "start: a\nstates: {a: {final: true, when: {}}}\n\(text)\n"
        #expect(Self.problems(file).contains(problem), "\(Self.problems(file))")
    }

    @Test func unknownNamesAreErrorsOnlyWhereTheyAreDemanded() {
        let text = """
            start: a
            states:
              a: {by: [root, rooot, "@no-such-group", 4242, "@4242", any-such-user], final: true}
            """
        #expect(Self.problems(text).isEmpty)
        let warned = [
            #"f:3:18: warning: there is no user "rooot" here; did you mean root?"#,
            #"f:3:25: warning: there is no group "no-such-group" here; create it, or write its number"#,
            #"f:3:58: warning: there is no user "any-such-user" here; create it, or write its number"#,
        ]
        #expect(Self.problems(text, .warning) == warned)
        #expect(Self.read(text, .warning).declaration != nil)
        #expect(
            Self.problems(text, .demanding) == warned.map { $0.replacing("warning: ", with: "") }
        )
        #expect(Self.read(text, .demanding).declaration == nil)
    }

    @Test func aNumberIsAUserAndAfterAnAtAGroup() throws {
        let text = #"{start: a, states: {a: {by: [4242, root, "@4243"], final: true}}}"#
        let machine = try #require(Self.read(text, .demanding).declaration)
        let right = try #require(machine.schema.rights?.right(to: .set("a")))
        #expect(right.uids == [4242, 0] && right.gids == [4243])
        // Who looks nobody up lets nobody in.
        let blind = try #require(Self.read(text).declaration?.schema.rights?.right(to: .set("a")))
        #expect(blind.uids.isEmpty && blind.gids.isEmpty)
        let tooLarge = text.replacing("4242", with: "4294967295")
        #expect(Self.read(tooLarge, .demanding).declaration == nil)
    }

    @Test func byMayBeAFieldOfAnEvent() throws {
        let text = """
            start: a
            events:
              word: {by: string}
              map: {by: {type: integer, default: 1}}
              both: {by: [root], count: integer}
              none: {}
            states: {a: {when: {word: stay, map: stay, both: stay, none: stay}, final: true}}
            """
        let schema = try declaration(text).schema
        #expect(schema.events.map { $0.fields.map(\.name) } == [["by"], ["by"], ["count"], []])
        #expect(schema.rights?.right(to: .send("both"))?.names == ["root"])
        #expect(schema.rights?.right(to: .send("word")) == nil)
        #expect(schema.describedRights?.description == #"{"events":{"both":["root"]}}"#)
        #expect(Self.problems(text).isEmpty)
    }

    private static let machine = """
        start: idle
        by: ["@staff"]
        events: {press: {by: [anna, "@operators"]}, stop: {by: [any]}, note: {}}
        states:
          idle: {fields: {n: {type: integer, default: 0}}, when: {press: running, note: stay}}
          running: {by: [bert], when: {stop: idle}}
        """

    @Test func describeHasTheListsAsTheyAreWritten() throws {
        let rights = try declaration(Self.machine).schema.describedRights?.description
        #expect(
            rights
                == #"{"by":["@staff"],"states":{"running":["bert"]},"events":{"press":["anna","@operators"],"stop":["any"]}}"#
        )
        #expect(try declaration("{start: a, states: {a: {final: true}}}").schema.rights == nil)
    }

    @Test(arguments: [
        ("send press -> running", "running"),
        ("as root: send press -> running", "running"),
        ("as anna: send press -> running", "running"),
        ("as bert: send press -> refused", "idle n=0"),
        ("as bert, @operators: send press -> running", "running"),
        ("as bert, @staff, @operators: send press -> running", "running"),
        ("as operators: send press -> refused", "idle n=0"),
        ("as bert: set running -> running\nas bert: set idle -> refused", "running"),
        ("as bert: set running\nas carl: send stop -> idle", "idle n=0"),
        ("as carl, @staff: update n=1 -> idle n=1\nas carl: update n=2 -> refused", "idle n=1"),
        ("as carl: send note -> refused\nas carl, @staff: send note -> idle", "idle n=0"),
        // Who may not ask is told nothing else.
        ("as carl: set idle n=many", "t:1: only root and @staff may set idle; found idle n=0"),
        ("as carl: set nowhere -> refused", "idle n=0"),
        ("as carl: wait 1s", #"t:1: nobody asks for that; "as" stands before send, set or update"#),
    ])
    func aTraceSaysWhoAsks(trace: String, end: String) throws {
        let machine = try declaration(Self.machine)
        do {
            #expect(try Trace(trace).run(on: machine).written == end)
        } catch {
            #expect(error.text(in: "t") == end)
        }
    }

    @Test(arguments: [
        "as", "as anna send press", "as : send press", "as @ops: send press",
        "as anna, bert: send press", "as anna, @: send press",
    ])
    func whoAsksIsAUserAndItsGroups(trace: String) throws {
        #expect(throws: TraceFailure.self) { try Trace(trace) }
    }
}
