import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

@Suite struct CasesTests {
    private static let text = """
        start: ask
        to: []
        events:
          right: {user: string}
          wrong: {}
          note: {text: {type: string, max: 20}}
          mode: {mode: {values: [off, heat, cool]}, soft: {type: boolean, default: false}}
          watts: {watts: integer}
          limit: {most: integer, n: {type: integer, default: 1}}
          quiet: {}
        groups:
          warm: {states: [idle, heating], when: {mode: [{if: mode=heat, to: heating}, {if: soft, to: stay}, idle]}}
        states:
          ask:
            fields:
              tries: {type: integer, min: 0, max: 2, default: 0}
              text: {type: string, max: 4, optional: true}
              user: {type: string, optional: true}
            when:
              right: [{if: event.user=root, refuse: root has no PIN}, {if: "!text", to: open}, ignore]
              wrong: [keep tries+=1, locked]
              note: [keep, {refuse: the text is too long}]
              limit: [{if: "tries>={most}", to: locked}, "keep tries+={n}", ignore]
          locked:
            run: {command: /bin/a, interrupted: [{if: more, to: again}, ask]}
            fields: {more: {type: boolean, default: false}, level: {type: number, default: 2.5}}
            done: [{if: "level<=2.50, !more", to: open user=done}, ask]
            exit: {3: [{if: level>3, to: idle}, ignore]}
            failed: [{if: level!=2.5, to: again}, ask tries=1]
            boot: [{if: more, to: again}, ignore]
            after: {15min: [{if: more, to: idle}, {state: ask, data: {tries: 2}}]}
            when: {quiet: [{state: locked, add: {level: 0.5}, data: {more: true}}], limit: [locked level-=1, locked]}
          open: {fields: {user: string}, after: {10s: ask}}
          idle: {}
          heating: {when: {watts: [{if: "watts>=10, watts<100", to: again}, {if: [watts=-1], refuse: "no, no"}, stay]}}
        """

    private let machine: Declaration

    init() throws { self.machine = try declaration(Self.text) }

    private func state(_ name: String, _ data: String = "{}") throws -> DeclaredState {
        try self.machine.state(name, data: try #require(JSONValue(parsing: data)?.members))
    }

    /// What becomes of a state, in one line.
    private func outcome(_ body: () throws -> Move.Made) -> String {
        do {
            return switch try body() {
            case .enter(let value): "enters \(self.written(value))"
            case .keep(let value): "keeps \(self.written(value))"
            case .renew: "renews"
            case .nothing(.same), .nothing(.renewed), .pass: "nothing"
            case .nothing(.unhandled): "unhandled"
            }
        } catch let error as WireError {
            return "\(error.code): \(error.message)"
        } catch {
            return "\(error)"
        }
    }

    private func written(_ value: Value) -> String {
        let state: DeclaredState = TypedValue.state(of: value)
        return state.written
    }

    @Test(arguments: [
        ("ask", "{}", "wrong", "{}", "keeps ask tries=1"),
        ("ask", #"{"tries":1,"text":"a"}"#, "wrong", "{}", "keeps ask tries=2 text=a"),
        ("ask", #"{"tries":2}"#, "wrong", "{}", "enters locked more=false level=2.5"),
        ("ask", "{}", "right", #"{"user":"eva"}"#, "enters open user=eva"),
        ("ask", #"{"text":"a"}"#, "right", #"{"user":"eva"}"#, "nothing"),
        ("ask", #"{"user":"x"}"#, "right", #"{"user":"root"}"#, "refused: root has no PIN"),
        // The event's fields of those names are taken, and what does not fit is passed over.
        (
            "ask", #"{"user":"x"}"#, "note", #"{"text":"abcd"}"#,
            "keeps ask tries=0 text=abcd user=x"
        ),
        ("ask", "{}", "note", #"{"text":"abcde"}"#, "refused: the text is too long"),
        ("ask", #"{"tries":1}"#, "limit", #"{"most":1}"#, "enters locked more=false level=2.5"),
        ("ask", #"{"tries":1}"#, "limit", #"{"most":5}"#, "keeps ask tries=2"),
        ("ask", #"{"tries":1}"#, "limit", #"{"most":5,"n":2}"#, "nothing"),
        ("ask", #"{"tries":1}"#, "limit", #"{"most":5,"n":-1}"#, "keeps ask tries=0"),
        ("idle", "{}", "mode", #"{"mode":"heat"}"#, "enters heating"),
        ("idle", "{}", "mode", #"{"mode":"cool","soft":true}"#, "renews"),
        ("heating", "{}", "mode", #"{"mode":"off"}"#, "enters idle"),
        ("heating", "{}", "watts", #"{"watts":10}"#, "enters heating"),
        ("heating", "{}", "watts", #"{"watts":100}"#, "renews"),
        ("heating", "{}", "watts", #"{"watts":-1}"#, "refused: no, no"),
        ("locked", "{}", "quiet", "{}", "enters locked more=true level=3.0"),
        ("locked", "{}", "limit", #"{"most":1}"#, "enters locked more=false level=1.5"),
        ("open", #"{"user":"x"}"#, "wrong", "{}", "unhandled"),
    ])
    func theFirstCaseIsTakenThatHoldsAndFits(
        name: String,
        data: String,
        event: String,
        sent: String,
        expected: String
    ) throws {
        let state = try self.state(name, data)
        let members = try #require(JSONValue(parsing: sent)?.members)
        #expect(self.outcome { try state.decision(on: .event(event, members)).made } == expected)
    }

    @Test(arguments: [
        ("{}", RunEnd.exit(0), "enters open user=done"),
        (#"{"level":2.51}"#, .exit(0), "enters ask tries=0"),
        (#"{"more":true}"#, .exit(0), "enters ask tries=0"),
        (#"{"level":3.5}"#, .exit(3), "enters idle"),
        (#"{"level":3.0}"#, .exit(3), "nothing"),
        ("{}", .signal("SIGKILL"), "enters ask tries=1"),
        (#"{"level":3}"#, .timeout, "enters locked more=false level=3"),
        ("{}", .interrupted, "enters ask tries=0"),
        (#"{"more":true}"#, .interrupted, "enters ask tries=1"),
    ])
    func endsOfARunHaveCases(data: String, end: RunEnd, expected: String) throws {
        let state = try self.state("locked", data)
        #expect(self.outcome { try state.decision(on: .runEnded(end)).made } == expected)
    }

    @Test func timeAndBootHaveCases() throws {
        let (calm, again) = (try self.state("locked"), try self.state("locked", #"{"more":true}"#))
        let key = try #require(calm.due.first?.key)
        #expect(self.outcome { try calm.decision(on: .time(key)).made } == "enters ask tries=2")
        #expect(self.outcome { try again.decision(on: .time(key)).made } == "enters idle")
        #expect(self.outcome { try calm.decision(on: .boot).made } == "nothing")
        #expect(
            self.outcome { try again.decision(on: .boot).made }
                == "enters locked more=true level=2.5"
        )
        // Only where the cases say so is it run again.
        #expect(again.isRunAgain)
        #expect(!calm.isRunAgain)
    }

    @Test func whyACaseIsPassedOverIsSaid() throws {
        let asking = try self.state("ask", #"{"tries":2}"#)
        let cases = { (event: String) in
            self.machine.eventNumber(event).flatMap { asking.declared.reactions[$0] } ?? []
        }
        #expect(
            cases("wrong").map { asking.objection(to: $0) } == ["tries=3: must be at most 2", nil]
        )
        #expect(
            asking.objection(to: cases("right")[0], Given(event: [.string("eva")]))
                == "event.user=root does not hold"
        )
    }

    @Test func describeListsCases() throws {
        let states = try #require(self.machine.described["states"]?.elements)
        #expect(
            states[0]["when"]?["wrong"]
                == [["to": "keep", "with": "tries+=1"], ["to": "locked"]]
        )
        #expect(
            states[0]["when"]?["right"]
                == [
                    ["if": "event.user=root", "refuse": "root has no PIN"],
                    ["if": "!text", "to": "open"], ["to": "ignore"],
                ]
        )
        #expect(states[1]["after"]?["cases"]?.elements?.count == 2)
        #expect(
            states[1]["moves"]?["interrupted"] == [["if": "more", "to": "again"], ["to": "ask"]]
        )
        #expect(states[2]["after"] == ["ms": 10000, "state": "ask"])
    }

    @Test func drawingsSayTheConditions() {
        let text = Drawing(self.machine).plainText
        for line in [
            "wrong [tries+=1]: keep tries+=1", "note [if it fits]: keep",
            "wrong [else], limit [tries>={most}] → locked", "right [!text] → open",
            "right [event.user=root]: refused, root has no PIN", "mode [mode=heat] → heating",
            "◷ after 15min [more], exit 3 [level>3] → idle",
        ] {
            #expect(text.contains(line), "\(line) in \(text)")
        }
        #expect(Drawing(self.machine).mermaid.contains("limit [tries≥{most}]"))
    }

    @Test(arguments: [
        // A state that is called keep is meant where there is one.
        (
            "start: a\nevents: {e: {}}\nstates:\n  a: {when: {e: keep k=1}}\n  keep: {fields: {k: integer}, to: [a]}\n",
            [
                "file:4:17: warning: \"keep\" is a state here, so this enters it; call the state otherwise if the stay is to go on"
            ]
        ),
        (
            "start: a\nevents: {e: {k: {type: integer, min: 0, max: 9}}}\nstates:\n  a: {final: true, when: {e: [{if: k>9, to: stay}, {if: k>=0, to: again}, ignore, again]}}\n",
            [
                "file:4:36: warning: k>9 never holds: k is an integer from 0 to 9",
                "file:4:57: warning: k>=0 always holds: k is an integer from 0 to 9",
                "file:4:75: warning: this case is never reached, since one before it always holds; remove it, or move it up",
                "file:4:83: warning: this case is never reached, since one before it always holds; remove it, or move it up",
            ]
        ),
        // A field whose name ends like a step.
        (
            "start: a\nevents: {e: {}}\nstates:\n  a: {final: true, fields: {f-: {type: integer, default: 1}}, when: {e: a f-=2}}\n",
            []
        ),
    ])
    func whatMayNotBeMeantIsWarnedOf(text: String, expected: [String]) {
        #expect(problems(text) == expected)
    }

    @Test func whatAGroupKeepsStaysInTheStateThatIsLeft() throws {
        // Both have the same fields.
        let machine = try declaration(
            """
            start: a
            events: {e: {}}
            groups: {g: {states: [a, b], when: {e: keep k+=1}}}
            states:
              a: {fields: {k: {type: integer, default: 0}}}
              b: {fields: {k: {type: integer, default: 0}}}
            """
        )
        for name in ["a", "b"] {
            let state = try machine.state(name, data: [])
            #expect(
                self.outcome { try state.decision(on: .event("e", [])).made }
                    == "keeps \(name) k=1"
            )
        }
    }

    @Test func theSmallestIntegerCanBeTakenAway() throws {
        let machine = try declaration(
            """
            start: a
            events: {e: {n: integer}}
            states:
              a: {fields: {k: {type: integer, default: -1}}, when: {e: ["a k-={n}", ignore]}}
            """
        )
        let least = [JSONMember("n", .number("-9223372036854775808"))]
        #expect(
            self.outcome { try machine.state("a", data: []).decision(on: .event("e", least)).made }
                == "enters a k=9223372036854775807"
        )
        let zero = try machine.state("a", data: [JSONMember("k", 0)])
        #expect(self.outcome { try zero.decision(on: .event("e", least)).made } == "nothing")
    }

    @Test func aNumberThatStaysTheSameStaysAsItIsWritten() throws {
        let machine = try declaration(
            "start: a\nstates: {a: {fields: {d: {type: number, default: 9007199254740992}}}}\n"
        )
        let trace = try Trace("update d=9007199254740992.0\nupdate d+=9007199254740993\n")
        #expect(try trace.run(on: machine)["d"] == .number("18014398509481985"))
    }

    @Test func aGroupsConditionsNeedFieldsOfOneType() {
        let text = """
            start: z
            events: {e: {}}
            groups: {g: {states: [a, b, c], when: {e: [{if: "m=1, !f", to: z}, {if: "z={state.z}", to: z}, z]}}}
            states:
              a: {fields: {m: {type: integer, default: 0}, f: {type: boolean, default: true}, z: {type: integer, default: 0}}}
              b: {fields: {m: {type: number, default: 0}, f: {type: string, optional: true}, z: {type: integer, optional: true}}}
              c: {fields: {m: {type: integer, default: 0}, f: {type: boolean, default: true}}, when: {e: z}}
              z: {}
            """
        #expect(
            problems(text) == [
                "file:3:49: m is an integer in \"a\" and a number in \"b\"; rename one",
                "file:3:49: f is a boolean in \"a\" and a string in \"b\"; rename one",
            ]
        )
    }
}
