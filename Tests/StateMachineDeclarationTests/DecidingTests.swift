import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import TestSupport
import Testing

@Suite struct DecidingTests {
    private static let text = """
        start: idle
        to: [idle]
        always: [safe]
        events:
          go: {volume: integer, title: {type: string, optional: true}}
          same: {volume: {type: integer, optional: true}}
          calm: {}
          deaf: {}
          poke: {level: {values: [low, high], default: low}}
        groups:
          loud: {states: [playing, safe], when: {calm: idle, deaf: idle}}
          later: {states: [playing], when: {calm: safe}}
        states:
          idle:
            fields: {title: {type: string, default: none}}
            when: {go: playing}
            to: [loud]
          playing:
            fields:
              volume: {type: integer, min: 0, max: 100}
              title: string
              note: {type: string, optional: true, max: 4}
              speed: {type: number, default: 1}
            when: {same: again, go: playing volume=7, deaf: ignore, poke: stay}
            after: {1min: idle}
            run: {command: /bin/a, interrupted: safe}
            done: idle
            exit: {3: safe}
            boot: again
          safe: {boot: idle title=x}
        """

    private let machine: Declaration

    init() throws { self.machine = try declaration(Self.text) }

    private func state(_ name: String, _ words: [(String, String)] = []) throws -> DeclaredState {
        try self.machine.state(
            name,
            data: try self.machine.data(
                ofWords: words.map { (key: $0.0, value: $0.1) },
                forState: name
            )
        )
    }

    private var playing: DeclaredState {
        get throws {
            try self.state("playing", [("volume", "40"), ("title", "a"), ("note", "b")])
        }
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch let error as WireError {
            return error.message
        } catch {
            return "\(error)"
        }
    }

    @Test func bareWordsAreTypedByDeclaration() throws {
        let playing = try self.state(
            "playing",
            [("volume", "040"), ("title", "1.10"), ("speed", "1.50")]
        )
        #expect(playing["volume"] == .number("40"))
        #expect(playing["title"] == .string("1.10"))
        #expect(playing["speed"] == .number("1.50"))
        #expect(playing["note"] == nil)
        #expect(playing.written == "playing volume=40 title=1.10 speed=1.50")
        #expect(try self.state("idle", [("title", "true")])["title"] == .string("true"))
        #expect(try self.state("idle")["title"] == .string("none"))
    }

    @Test(arguments: [
        ("playing", #"{"volume":140,"title":"a"}"#, "volume=140: must be at most 100"),
        ("playing", #"{"volume":-1,"title":"a"}"#, "volume=-1: must be at least 0"),
        (
            "playing", #"{"volume":"40","title":"a"}"#,
            "volume=40: it is given as text; write it without quotes"
        ),
        ("playing", #"{"volume":4.0,"title":"a"}"#, "volume=4.0: write a whole number"),
        ("playing", #"{"volume":4,"title":5}"#, "title=5: write a string"),
        ("playing", #"{"volume":4}"#, #""playing" needs "title", a string"#),
        ("playing", #"{"volume":4,"title":null}"#, #""playing" needs "title", a string"#),
        (
            "playing", #"{"volume":4,"title":"a","note":"äöü"}"#,
            "note=äöü: must have at most 4 bytes"
        ),
        ("playing", #"{"volum":4}"#, #""playing" has no field "volum"; did you mean volume?"#),
        ("safe", #"{"x":4}"#, #""safe" has no field "x"; it has none"#),
        ("plaing", "{}", #"there is no state "plaing"; did you mean playing?"#),
        ("other", "{}", #"there is no state "other"; known: idle, playing, safe"#),
    ])
    func aStateThatDoesNotFitIsRefused(name: String, data: String, sentence: String) throws {
        let members = try #require(JSONValue(parsing: data)?.members)
        #expect(self.refusal { _ = try self.machine.state(name, data: members) } == sentence)
    }

    /// A word that does not fit has stayed a text.
    @Test(arguments: [
        ("left", "120000", "left=2min: must be at most 1min"),
        ("left", "1999", "left=1s999ms: must be at least 2s"),
        (
            "left", "1.5",
            "left=1.5: write a time, like 90s or 1h30min; as JSON a whole number of milliseconds"
        ),
        ("list", #""x""#, #"list=x: write a list, like ["a"]"#),
        ("list", "5", "list=5: write a list"),
        ("map", #""x""#, #"map=x: write an object, like {"a": "b"}"#),
        ("ratio", #""much""#, "ratio=much: write a number, like 1.5"),
        ("ratio", "true", "ratio=true: write a number"),
    ])
    func aRefusalSaysHowAValueIsWritten(field: String, value: String, sentence: String) throws {
        let machine = try declaration(
            """
            start: a
            states:
              a:
                fields:
                  left: {type: time, min: 2s, max: 1min, default: 30s}
                  list: {type: array, optional: true}
                  map: {type: object, optional: true}
                  ratio: {type: number, default: 1}
            """
        )
        let member = JSONMember(field, try #require(JSONValue(parsing: value)))
        #expect(self.refusal { _ = try machine.state("a", data: [member]) } == sentence)
    }

    @Test func onlyWhatIsListedMayBeSet() throws {
        let idle = self.machine.initial
        let (playing, safe) = (try self.playing, try self.state("safe"))
        #expect(idle.legality(of: playing) == nil)
        #expect(idle.legality(of: safe) == nil)
        #expect(playing.legality(of: idle) == nil)
        // Another value of the same case is not listed.
        #expect(
            playing.legality(of: playing)?.message
                == "playing may not follow playing; allowed: idle, safe"
        )
        #expect(
            idle.legality(of: try self.state("idle", [("title", "b")]))
                == WireError(
                    .illegalTransition,
                    "idle may not follow idle; allowed: playing, safe"
                )
        )
        #expect(!playing.mayBecome(playing))
        #expect(idle.mayBecome(playing))
    }

    private func send(
        _ event: String,
        _ data: String = "{}",
        in state: DeclaredState
    ) throws -> String {
        let members = try #require(JSONValue(parsing: data)?.members)
        switch try state.decision(on: .event(event, members)).made {
        case .enter(let next): return self.written(next)
        case .keep: return "keep"
        case .renew: return "stay"
        case .nothing(.same), .pass: return "ignore"
        case .nothing: return "unhandled"
        }
    }

    private func written(_ value: Value) -> String {
        TypedValue<DeclaredState>.state(of: value).written
    }

    @Test func fieldsComeFromTheEventThenTheLeftStateThenTheDefault() throws {
        let idle = try self.state("idle", [("title", "left")])
        let data = #"{"volume":3,"title":"sent"}"#
        #expect(try self.send("go", data, in: idle) == "playing volume=3 title=sent speed=1")
        #expect(
            try self.send("go", #"{"volume":3}"#, in: idle)
                == "playing volume=3 title=left speed=1"
        )
        // The values in the target take precedence over everything.
        #expect(
            try self.send("go", #"{"volume":3}"#, in: self.playing)
                == "playing volume=7 title=a note=b speed=1"
        )
    }

    @Test func theStateGoesBeforeItsGroupsAndTheFirstGroupBeforeOthers() throws {
        let playing = try self.playing
        #expect(try self.send("deaf", in: playing) == "ignore")
        #expect(try self.send("calm", in: playing) == "idle title=a")
        #expect(try self.send("calm", in: self.machine.initial) == "unhandled")
        #expect(try self.send("poke", in: playing) == "stay")
    }

    @Test(arguments: [
        ("sane", "{}", #"there is no event "sane"; did you mean same?"#),
        ("other", "{}", #"there is no event "other"; known: go, same, calm, deaf, poke"#),
        ("go", "{}", #""go" needs "volume", an integer"#),
        ("go", #"{"volume":"x"}"#, "volume=x: write a whole number"),
        ("go", #"{"volume":101}"#, "volume=101: must be at most 100"),
        ("go", #"{"volume":1,"x":1}"#, #""go" has no field "x"; known: volume, title"#),
        ("poke", #"{"level":"hi"}"#, "level=hi: must be one of low, high"),
    ])
    func anEventThatDoesNotFitIsRefused(event: String, data: String, sentence: String) throws {
        let idle = self.machine.initial
        #expect(self.refusal { _ = try self.send(event, data, in: idle) } == sentence)
    }

    @Test func aStateIsInItsGroups() {
        #expect(self.machine.groups(of: 1).map(\.name) == ["loud", "later"])
    }

    @Test(arguments: [
        (RunEnd.exit(0), #"{"exit":0}"#),
        (.exit(255), #"{"exit":255}"#),
        (.signal("SIGKILL"), #"{"signal":"SIGKILL"}"#),
        (.signal("SIGRTMIN+3"), #"{"signal":"SIGRTMIN+3"}"#),
        (.timeout, #"{"timeout":true}"#),
        (.interrupted, #"{"interrupted":true}"#),
    ])
    func eachIsReadAsItIsWritten(end: RunEnd, json: String) throws {
        #expect(end.data.description == json)
        #expect(try RunEnd(#require(end.data.members)) == end)
    }

    @Test func nullIsNotThere() throws {
        #expect(try RunEnd(self.members(#"{"exit":3,"signal":null}"#)) == .exit(3))
    }

    private func members(_ json: String) throws -> [JSONMember] {
        try #require(JSONValue(parsing: json)?.members)
    }

    /// What has no place in a line is no state to be in, by whatever way.
    @Test func aStateThatWouldBeTooLongIsNotEntered() throws {
        let long = String(repeating: "x", count: 40_000)
        let machine = try declaration(
            """
            start: short
            events: {go: {}, note: {text: string}}
            states:
              short:
                fields: {text: {type: string, default: ""}}
                after: {1h: long}
                boot: long
                when: {go: long, note: [keep, {refuse: never}]}
                run: /bin/true
                done: long
              long: {fields: {text: string, more: {type: string, default: \(long)}}, final: true}
            """
        )
        let short = try machine.state("short", data: [])
        let time = Stimulus.time(try #require(short.due.first?.key))
        let full = try machine.state("short", data: [JSONMember("text", .string(long))])
        let sentence = "the state is too long: it has "
        let note = Stimulus.event("note", [JSONMember("text", .string(long + long))])
        for stimulus in [.event("go", []), note, .runEnded(.exit(0)), .boot, time] as [Stimulus] {
            #expect(
                self.refusal { _ = try full.decision(on: stimulus) }?.hasPrefix(sentence) == true
            )
        }
        #expect(
            self.refusal {
                _ = try short.updated(with: [JSONMember("text", .string(long + long))])
            }?
            .hasPrefix(sentence) == true
        )
        // Written with escapes it is longer than it looks.
        let escaped = String(repeating: "\u{1}", count: 11_000)
        #expect(
            self.refusal { _ = try short.updated(with: [JSONMember("text", .string(escaped))]) }
                != nil
        )
        let step = JSONMember("text", .number("-1"))
        #expect(
            self.refusal { _ = try short.updated(with: [], adding: [step]) }
                == "text-=1: text is a string, not a number"
        )
    }

    /// One that is too long already, by an earlier version, is carried over, and one that a new file makes so is not.
    @Test func aStateThatANewFileMakesTooLongIsNotCarriedOver() throws {
        let long = String(repeating: "x", count: 40_000)
        let text = "start: a\nstates: {a: {fields: {b: {type: string, default: \"\"}"
        let longer = try declaration("\(text), c: {type: string, default: \(long)}}}}\n").schema
        let carried = { (schema: Schema, data: [JSONMember]) throws -> Int in
            schema.encoded(try schema.carried("a", data: data)).fragment.count
        }
        let b = JSONMember("b", .string(long))
        #expect(throws: NotCarriedOver.self) { try carried(longer, [b]) }
        #expect(try carried(longer, [JSONMember("b", "x")]) > 40_000)
        let same = try declaration("\(text)}}}\n").schema
        #expect(try carried(same, [JSONMember("b", .string(long + long))]) > 80_000)
        #expect(try carried(longer, [b, JSONMember("c", .string(long))]) > 80_000)
    }

    /// What is decided may not come to be, and another change be made of that number.
    @Test func decidingNotesNoStart() throws {
        let machine = try declaration(
            """
            start: idle
            events: {begin: {left: time}, stop: {}}
            states:
              idle: {when: {begin: chosen}}
              chosen: {fields: {left: time}, when: {stop: "stopped left={remaining}"}, after: {"{left}": idle}}
              stopped: {fields: {left: time}}
            """
        )
        let clock = ManualStayClock()
        let starts = StayStarts(StayStart(stay: 0, moment: clock.moment), clock: clock)
        func decide(
            _ event: String,
            _ data: [JSONMember],
            at seq: UInt64,
            _ value: Value
        ) throws -> Value {
            let place = Place(seq: seq, value: value, at: clock.moment.wall, stay: seq)
            let made = try machine.decide(.event(event, data), at: place, seeing: Sight(), starts)
                .made
            guard case .enter(let next) = made else {
                Issue.record("\(made)")
                return value
            }
            return next
        }
        let idle = TypedValue(try machine.state("idle", data: []))
        let left = JSONMember("left", .integer(60_000))
        let stopped = try decide("stop", [], at: 1, try decide("begin", [left], at: 0, idle))
        #expect(stopped.text.contains("60"))
        #expect(starts.newest(of: 1) == nil)
        clock.pass(.seconds(30))
        #expect(starts.start(of: 1, at: 1, clock.moment.wall).moment == clock.moment)
    }
}
