import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import TestSupport
import Testing

@Suite struct DrawingTests {
    @Test func ofWhatADaemonDescribes() throws {
        let description = try #require(
            JSONValue(
                parsing: #"""
                    {"states":[
                    {"state":"idle","fields":{}},
                    {"state":"a\"b","fields":{"n":{"type":"integer","optional":true},"p":{"type":"string","values":["x","y"]}},
                    "groups":["all"],"when":{"go":"idle","back":"again","look":"stay"},"after":{"ms":90000,"state":"idle"},
                    "run":true,"moves":{"done":"idle","exit 2":"gone"},"final":true}],
                    "initial":{"state":"idle","data":{}},"transitions":{"idle":["a\"b"],"a\"b":["idle","a\"b"]}}
                    """#
            )
        )
        let drawing = try #require(Drawing(description: description, present: #"a"b"#))
        #expect(
            drawing.plainText == #"""
                idle  (start)
                  set → a"b

                a"b  (present; final; in all)
                  n: integer?
                  p: x|y
                  runs a command
                  look: stay
                  go, ◷ after 1min30s, done → idle
                  back → a"b
                  set → any
                """#
        )
        #expect(
            drawing.dot.contains(
                ##"s1 [label="a\"b", peripheries=2, penwidth=3, style="rounded,filled", fillcolor="#FFE9A8"];"##
            )
        )
        #expect(drawing.mermaid.contains(#"state "a_b" as s1"#))
        #expect(Drawing(description: ["states": []]) == nil)
    }

    /// A daemon's description of a declared machine draws the same picture as its file.
    @Test(arguments: ["kiosk", "ota", "worker"])
    func theDescriptionHasAllArrows(name: String) throws {
        let machine = try declaration(Fixture.text("machines/\(name).yaml"))
        let form = machine.schema
        let states = form.states.map { form.described($0) }
        let described = Drawing(
            description: [
                "states": .array(states), "transitions": form.describedTransitions,
                "machine": .string(name),
                "initial": ["state": .string(machine.initial.declared.name)],
            ]
        )
        #expect(described?.dot == Drawing(machine).dot)
    }

    @Test func withItsPast() throws {
        var drawing = Drawing(try declaration(drawnLamp), present: "burning")
        drawing.note(["off-now": .held, "burning": .guarded])
        drawing.note([
            DrawingWay(from: "off-now", to: "burning"): (12, "3 min"),
            DrawingWay(from: "broken", to: "burning"): (1, nil),
            DrawingWay(from: "off-now", to: "gone"): (7, "1 s"),
        ])
        #expect(drawing.dot.contains(#"[label="press\n12 ×, 3 min", penwidth=2]"#))
        #expect(drawing.dot.contains(#"[label="set\nnever", color=gray50, style=dashed]"#))
        #expect(drawing.dot.contains(##"s0 [label="off-now\n⊘ held", color="#D55E00"]"##))
        #expect(drawing.mermaid.contains("s0 --> s1 : press (12 ×, 3 min)"))
        #expect(drawing.mermaid.contains("class s0 held"))
        #expect(drawing.plainText.contains("press → burning  (12 ×, 3 min)"))
    }

    @Test func aMarkIsToldByDescribeAndDrawn() throws {
        let machine = try declaration(
            """
            start: idle
            states:
              idle: {mark: good}
              burning: {mark: bad}
              ash: {mark: bad}
              cold: {mark: warn}
            """
        )
        #expect(
            machine.described["states"]?.elements?.map { $0["mark"]?.string } == [
                "good", "bad", "bad", "warn",
            ]
        )
        let drawing = Drawing(machine, present: "burning")
        #expect(
            drawing.dot.contains(
                ##"s0 [label="idle", style="rounded,filled", fillcolor="#C4E8DC"];"##
            )
        )
        #expect(
            drawing.dot.contains(
                ##"s1 [label="burning", penwidth=3, style="rounded,filled", fillcolor="#F2AE90"];"##
            )
        )
        for line in [
            "    classDef bad fill:#F2AE90", "    class s1,s2 bad", "    class s3 warn",
            "    classDef present stroke-width:4px",
        ] {
            #expect(drawing.mermaid.split(separator: "\n").contains(line[...]), "\(line)")
        }
        #expect(drawing.plainText.hasPrefix("idle  (start; good)\n"))
        #expect(drawing.json["states"]?.elements?[3]["mark"]?.string == "warn")
    }

    @Test func theSchemaKnowsEveryKey() throws {
        let schema = try #require(JSONValue(parsing: DeclarationSchema.text))
        let properties = try #require(schema["properties"]?.members)
        #expect(
            properties.map(\.key) == [
                "machine", "version", "about", "start", "states", "fields", "boot", "lost", "to",
                "always", "by", "events", "links", "groups", "defaults", "moves",
            ]
        )
        #expect(schema["required"] == .array([.string("start"), .string("states")]))
        #expect(schema["additionalProperties"] == .bool(false))
        let states = schema["properties"]?["states"]?["patternProperties"]?.members?.first?.value
        let state = states?["anyOf"]?.elements?.first
        #expect(
            state?["properties"]?.members?.map(\.key) == [
                "about", "was", "fields", "to", "by", "requires", "when", "after", "boot", "run",
                "done", "exit", "failed", "enter", "leave", "final", "mark",
            ]
        )
        let run = state?["properties"]?["run"]?["anyOf"]?.elements?.last
        #expect(
            run?["properties"]?.members?.map(\.key) == [
                "command", "user", "group", "timeout", "stop", "retry", "directory", "environment",
                "environment-file", "properties", "interrupted", "restart",
            ]
        )
    }
}
