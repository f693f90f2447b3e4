import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

@Suite struct LinkTests {
    private static let text = """
        machine: brew
        links: {water: water, heater: {runtime-directory: /run/heat/}}
        start: idle
        events: {brew: {cups: {type: integer, default: 1}}, done: {}}
        groups:
          all: {states: [idle, brewing], when: {"water is leaking": broken}}
        states:
          idle:
            fields: {why: {values: [none, water, heater], default: none}}
            when: {brew: [{if: "cups>4, water is low:level<3,kind=tap", to: again}, {if: ["heater is off", "event.cups=3"], to: stay}, brewing]}
          brewing:
            requires: ["water is ok", "heater is hot:celsius>=92"]
            fields: {n: {type: integer, default: 0}}
            when: {"water  is  empty": idle why=water, "heater is !hot": [{if: water is ok, to: keep n+=1}, again], done: idle}
            after: {10s: brewing}
          broken: {final: true}
        """

    private let machine: Declaration

    init() throws { self.machine = try declaration(Self.text) }

    private func problems(_ text: String) -> [String] {
        StateMachineDeclarationTests.problems(
            "links: {water: water}\nstart: a\nevents: {e: {}}\nstates:\n  \(text)\n"
        )
    }

    @Test func theFileIsReadAndDescribed() throws {
        #expect(
            self.machine.links == [
                Link("water", at: .instance("water")),
                Link("heater", at: .directory("/run/heat")),
            ]
        )
        let states = self.machine.states
        #expect(
            states[1].requirements.map(\.written) == ["water is ok", "heater is hot:celsius>=92"]
        )
        #expect(
            states[1].lookouts.map(\.condition.written)
                == ["water is empty", "heater is !hot", "water is leaking"]
        )
        let idle = try #require(states[0].reactions[0])
        #expect(idle[0].conditions.map(\.written) == ["cups>4", "water is low:level<3,kind=tap"])
        #expect(idle[1].conditions.map(\.written) == ["heater is off", "event.cups=3"])
        #expect(self.machine.schema.linkConditions.count == 7)
        let described = self.machine.described
        #expect(
            described["links"]
                == ["water": "water", "heater": ["runtime-directory": "/run/heat"]]
        )
        let brewing = described["states"]?.elements?[1]
        #expect(brewing?["requires"] == ["water is ok", "heater is hot:celsius>=92"])
        #expect(
            brewing?["when"]?.members?.map(\.key)
                == ["done", "water is empty", "heater is !hot", "water is leaking"]
        )
    }

    @Test func whatIsSeenDecides() throws {
        let state = try self.machine.state("brewing", data: [])
        var sight = Sight()
        func decision(_ key: String) throws -> String {
            let condition = try #require(LinkCondition(key))
            switch try state.decision(on: .seen(condition), seeing: sight).made {
            case .enter(let value):
                return "enters \(TypedValue<DeclaredState>.state(of: value).written)"
            case .keep(let value):
                return "keeps \(TypedValue<DeclaredState>.state(of: value).written)"
            case .renew: return "renews"
            case .nothing, .pass: return "nothing"
            }
        }
        #expect(try decision("water is empty") == "enters idle why=water")
        #expect(try decision("heater is !hot") == "enters brewing n=0")
        #expect(try decision("water is other") == "nothing")
        let asked = try #require(LinkCondition("water is ok"))
        sight.note("water", is: NamedState("ok"), of: [asked: .success("ok")])
        #expect(try decision("heater is !hot") == "keeps brewing n=1")
        #expect(sight.objection(to: asked) == nil)
    }

    @Test func whatIsNotMetIsSaid() throws {
        var sight = Sight()
        let value = TypedValue(try self.machine.state("brewing", data: []))
        let (ok, hot) = (
            self.machine.states[1].requirements[0], self.machine.states[1].requirements[1]
        )
        #expect(
            self.machine.denials(of: value, seeing: sight).lacks
                == "brewing needs water ok; it cannot be seen, and brewing needs heater hot:celsius>=92; it cannot be seen"
        )
        sight.note("water", is: NamedState("empty"), of: [ok: .success("ok")])
        let error = WireError(.unknownState, "there is no state \"hot\"; did you mean hut?")
        sight.note(
            "heater",
            is: NamedState("hut", [JSONMember("celsius", 90)]),
            of: [hot: .failure(error)]
        )
        #expect(
            self.machine.denials(of: value, seeing: sight).map(\.why) == [
                "brewing needs water ok; it is empty",
                "brewing needs heater hot:celsius>=92; there is no state \"hot\"; did you mean hut?",
            ]
        )
    }

    @Test(arguments: [
        ("ok", false, false), ("!ok", true, true), ("low:level<3", true, false),
        ("low:level=\"2\"", false, false),
        ("low:level=2", true, false), ("!low:level>2", true, false), ("dry", true, false),
        ("!dry", false, false),
        ("lowish", false, true), ("!lowish", false, true), ("low:depth=1", false, true),
        ("!low:depth=1", false, true),
    ])
    func patternsAreReadByTheOthersTypes(pattern: String, holds: Bool, isOdd: Bool) throws {
        let description = try #require(
            JSONValue(
                parsing: #"""
                    {"states":[{"state":"ok","fields":{}},{"state":"low","fields":{"level":{"type":"integer"}}}],
                    "groups":{"dry":["low","empty"]}}
                    """#
            )
        )
        let schema = try #require(Schema(describing: description))
        let condition = try #require(LinkCondition("water is \(pattern)"))
        let read = Result { () throws(WireError) in
            try schema.resolved(try Pattern(text: condition.pattern))
        }
        var sight = Sight()
        sight.note("water", is: NamedState("low", [JSONMember("level", 2)]), of: [condition: read])
        if pattern != "!ok" {
            #expect(sight.holds(condition) == holds)
            if isOdd {
                #expect(
                    sight.objection(to: condition)?.contains("there is no state") == true
                        || sight.objection(to: condition)?.contains("has no field") == true
                )
            }
        }
        sight.note("water", is: nil, of: [condition: read])
        #expect(!sight.holds(condition))
    }

    @Test func aDescriptionOfNothingIsNone() {
        for text in [
            "{}", #"{"states":[{"fields":{}}]}"#, #"{"states":[{"state":"a"}]}"#, #"{"states":{}}"#,
        ] {
            #expect(JSONValue(parsing: text).flatMap { Schema(describing: $0) } == nil, "\(text)")
        }
    }

    @Test func aTraceSees() throws {
        let trace = """
            send brew -> refused
            see water ok
            see heater hot celsius=93
            send brew -> brewing n=0
            see heater cold -> brewing n=1
            see heater warm -> brewing n=1
            see heater hot celsius=80 -> brewing
            see heater off -> brewing n=2
            wait 10s -> brewing n=2           # denied, and waits
            see heater hot celsius=92 -> brewing n=2
            see water empty -> idle why=water
            see heater
            set brewing -> refused
            see water leaking -> broken
            """
        #expect(try Trace(trace).run(on: self.machine).written == "broken")
    }

    @Test func whatIsLeftOfATimeIsHadWhereSomethingComesToBeSeen() throws {
        let machine = try declaration(
            """
            links: {door: door}
            start: {state: washing, data: {left: 1h}}
            groups: {all: {states: [washing, paused], after: {2h: done}}}
            states:
              washing:
                fields: {left: time}
                when: {"door is open": ["paused left={remaining}"]}
                after: {"{left}": done}
              paused: {fields: {left: time}, when: {"door is !open": washing}}
              done: {final: true}
            """
        )
        let trace = """
            see door shut
            wait 20min
            see door open -> paused left=40min
            wait 10min
            see door shut -> washing left=40min
            wait 39min -> washing
            wait 1min -> done
            """
        #expect(try Trace(trace).run(on: machine).written == "done")
    }

    @Test func aTimeThatBeginsAnewIsNoLongerDenied() throws {
        let machine = try declaration(
            """
            links: {water: water}
            start: idle
            events: {poke: {}}
            groups: {all: {states: [idle, brewing], after: {30s: brewing}}}
            states:
              idle: {when: {poke: stay}, after: {10s: brewing}}
              brewing: {requires: water is ok}
            """
        )
        let trace = """
            see water empty
            wait 10s -> idle
            send poke
            see water ok -> idle
            wait 9s -> idle
            wait 1s -> brewing
            """
        #expect(try Trace(trace).run(on: machine).written == "brewing")
        // A group's goes on.
        let other = "see water empty\nwait 30s\nsend poke\nsee water ok -> brewing"
        #expect(try Trace(other).run(on: machine).written == "brewing")
    }

    @Test func whatIsDueComesBeforeWhatWasSeenAndIsWithheld() throws {
        let machine = try declaration(
            """
            links: {l: other}
            moves: {most: 3, in: 1min}
            start: a
            events: {poke: {}}
            states:
              a: {when: {"l is on": again, poke: ignore}, after: {10s: b}}
              b: {final: true}
            """
        )
        let trace = "see l on\nwait 10s -> a\nsend poke -> b"
        #expect(try Trace(trace).run(on: machine).written == "b")
    }

    @Test func nothingIsSeenYetAtTheStartAfterABoot() throws {
        let machine = try declaration(
            """
            links: {water: water}
            start: idle
            events: {brew: {}}
            states:
              idle: {when: {brew: brewing}, boot: [{if: water is ok, to: warm}, cold]}
              warm: {}
              cold: {fields: {n: {type: integer, default: 0}}, when: {"water is ok": keep n+=1}, boot: ignore}
              brewing: {requires: water is ok, boot: again, when: {"water is low": idle}}
            """
        )
        let trace = """
            see water ok
            reboot -> cold n=1
            reboot -> cold n=1
            """
        #expect(try Trace(trace).run(on: machine).written == "cold n=1")
        // What a boot leads to is entered once that is seen again.
        let other = "see water ok\nsend brew -> brewing\nreboot -> brewing\nsee water low -> idle"
        #expect(try Trace(other).run(on: machine).written == "idle")
    }

    @Test func aTraceSaysWhyARequirementIsNotMet() throws {
        func failure(_ text: String) -> String? {
            do throws(TraceFailure) {
                _ = try Trace(text).run(on: self.machine)
                return nil
            } catch {
                return error.sentence
            }
        }
        #expect(
            failure("see water empty\nsee heater hot celsius=95\nsend brew -> brewing")?
                .hasPrefix(
                    "expected brewing, found idle why=none; brewing needs water ok; it is empty; "
                        + "case 3 of 3: cups>4 does not hold; heater is off does not hold, it is hot(celsius: 95)"
                ) == true
        )
        #expect(
            failure("see water empty\nsee heater hot celsius=95\nset brewing")
                == "brewing needs water ok; it is empty"
        )
        #expect(
            failure("see watr empty")
                == "there is no link \"watr\"; did you mean water?; found idle why=none"
        )
    }

    @Test func atEntryItHappensOnceIfItMatches() throws {
        let machine = try declaration(
            """
            links: {l: other}
            start: a
            events: {e: {}, f: {}}
            states:
              a: {when: {e: b}}
              b: {fields: {n: {type: integer, default: 0}}, when: {"l is on": keep n+=1, f: keep n+=0, e: again}}
            """
        )
        let trace = """
            see l on
            send e -> b n=1
            send f -> b n=1
            see l on -> b n=1
            see l off
            see l on -> b n=2
            see l -> b n=2        # that it cannot be seen changes nothing
            see l on -> b n=2
            send e -> b n=3
            """
        #expect(throws: Never.self) { try Trace(trace).run(on: machine) }
    }

    @Test func linksAreDashedBoxes() {
        let drawing = Drawing(self.machine)
        for line in [
            "    state \"water\" as l0", "    l0 --> s1", "    state \"heater (/run/heat)\" as l1",
            "    classDef link fill:none,stroke-dasharray:4", "    class l0,l1 link",
        ] {
            #expect(drawing.mermaid.split(separator: "\n").contains(line[...]), "\(line)")
        }
        for line in [
            "    l0 [label=\"water\", style=dashed];",
            "    l1 -> s1 [style=dashed, arrowhead=none, color=gray50];",
        ] {
            #expect(drawing.dot.split(separator: "\n").contains(line[...]), "\(line)")
        }
        let text = drawing.plainText
        for line in [
            "requires water is ok", "done, water is empty → idle", "sees water, heater (/run/heat)",
        ] {
            #expect(text.contains(line), "\(line) in \(text)")
        }
    }

    @Test(arguments: [
        (
            "a: {when: {\"watr is ok\": a}}",
            "file:5:14: there is no link \"watr\"; did you mean water?"
        ),
        (
            "a: {requires: [n=1], when: {\"water is ok\": a}}",
            "file:5:18: n=1 asks nothing of a link; write it like water is ok"
        ),
        (
            "a: {when: {e: [{if: \"!water is ok\", to: a}, a]}}",
            "file:5:23: !water is ok: write water is !ok"
        ),
        (
            "a: {when: {\"water is ok\": [{if: water is ok, refuse: no}, a]}}",
            "file:5:56: \"refuse\" answers who sends an event, so it may stand only where one leads, under \"when\""
        ),
        (
            "a: {when: {\"water is \": a}}",
            "file:5:14: water is : a state is missing; write it like water is ok"
        ),
    ])
    func whatIsWrongIsSaidWhereItStands(text: String, expected: String) {
        let problems = self.problems(text)
        #expect(problems.contains(expected), "\(problems)")
    }
}
