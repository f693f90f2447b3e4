import DaemonScripts
import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineClient
@testable import statectl

/// What people are shown, word for word.
@Suite struct LineTextTests {
    private static let active =
        #""seq":41,"state":"authentication","data":{"phase":"active"},"#
        + #""at":"2026-11-20T21:55:03.120007Z","cursor":"7f3a9c:41""#
    private static let change =
        #"{"type":"change","seq":42,"state":"ready","data":{"value":true},"#
        + #""from":{"state":"authentication","data":{"phase":"active"}},"#
        + #""at":"2026-11-20T21:55:04.000999Z","by":{"uid":0,"pid":4711},"cause":"login","#
        + #""cursor":"7f3a9c:42"}"#

    private func event(_ line: String, _ style: Style = .plain) throws -> String? {
        LineText.fixed(style).event(try Line.of(line), in: Columns(width: nil))
    }

    @Test func aStateIsShownWithItsAgeAndNumber() throws {
        let line = try Line.of(#"{"type":"reply","ok":true,\#(Self.active)}"#)
        #expect(LineText.fixed().report(line) == "authentication(phase: active)   12 s ago   #41")
        #expect(
            LineText.fixed().report(line, "unchanged")
                == "authentication(phase: active)   unchanged   12 s ago   #41"
        )
        #expect(
            LineText.fixed(.coloured).report(line)
                == "\u{1B}[1;36mauthentication\u{1B}[0m(phase: active)   "
                + "\u{1B}[2m12 s ago\u{1B}[0m   \u{1B}[2m#41\u{1B}[0m"
        )
    }

    @Test func aMachineOfSeveralHostsIsShownWithThem() throws {
        let old = try Line.of(
            #"{"type":"reply","ok":true,\#(Self.active),"staleMs":3120,"by":{"host":"b","uid":0,"pid":4711}}"#
        )
        #expect(
            LineText.fixed().report(old)
                == "authentication(phase: active)   12 s ago   #41   by root@b (4711)   may be 3.1 s old"
        )
        // Another host's users are known by their numbers.
        for (host, user) in [("b", "uid 7@b"), ("kiosk", "anna@kiosk")] {
            let line = try Line.of(
                #"{"type":"reply","ok":true,\#(Self.active),"by":{"host":"\#(host)","uid":7,"pid":4711,"comm":"deploy"}}"#
            )
            #expect(
                LineText.fixed().report(line)
                    == "authentication(phase: active)   12 s ago   #41   by \(user) (4711, deploy)"
            )
        }
        let position =
            #""seq":41,"state":"authentication","data":{"phase":"active"},"cursor":"7f3a9c:41""#
        for (members, text) in [
            (
                #""up":false,"reason":"engine","staleMs":3120,"#,
                "— may be 3.1 s old, and cannot be changed: no quorum of the engine has answered"
            ),
            (#""up":false,"reason":"later","#, "— may be old, and cannot be changed: later"),
            (#""up":true,"#, "— is what all hosts have again"),
        ] {
            let line = #"{"type":"shared",\#(members)\#(position)}"#
            #expect(try self.event(line) == "21:55:15.120  \(text)")
        }
    }

    @Test func hostsAreATable() throws {
        let reply = try Line.of(
            #"""
            {"type":"reply","ok":true,"hosts":[\#
            {"host":"a","here":true,"version":"0.3.0","up":true,"seq":41,"lag":0,"session":"7f","form":"1","declaration":"x","boot":"k"},\#
            {"host":"b","version":"0.3.0","up":true,"seq":39,"lag":2,"session":"694d","form":"1","declaration":"y","boot":"k","offset":-12},\#
            {"host":"c.example","version":"0.2.9","up":true,"seq":41,"lag":0,"session":"80","form":"2","declaration":"z","boot":"k","offset":1500}\#
            ]}
            """#
        )
        #expect(
            LineText.fixed().hosts(reply) == """
                host       version  seq  behind  session   clock
                a          0.3.0     41       0  7f         here
                b          0.3.0     39       2  694d     -12 ms  its file differs
                c.example  0.2.9     41       0  80       +1.5 s  its file has other states  its clock differs; is NTP running?
                """
        )
        #expect(
            LineText.fixed().sharing(reply).map { $0.text(.plain) } == [
                "a", "with b, c.example", "b: its file differs",
                "c.example: its file has other states",
                "c.example: its clock differs; is NTP running?",
            ]
        )
        let stale = try Line.of(#"{"type":"reply","ok":true,"hosts":[],"staleMs":5200}"#)
        #expect(
            LineText.fixed().hosts(stale) == """
                host  version  seq  behind  session  clock
                — as it was 5.2 s ago: no quorum has answered
                """
        )
    }

    /// As `status`, `top` and `machines` show it, too.
    @Test(arguments: [
        (
            #","overdue":{"ms":70000,"by":[{"hold":7,"uid":0,"pid":812,"why":"unsaved work"}]}"#,
            "next: menu overdue for 70 s   denied by hold 7 of root (812): unsaved work"
        ),
        (
            #","suspended":{"moves":3,"inMs":600000},"overdue":{"ms":7200000}"#,
            "next: menu overdue for 2 h   automatic transitions are suspended after 3 within 10 min"
        ),
        (
            #","suspended":{"moves":3,"inMs":600000}"#,
            "next: menu overdue for 10 s   automatic transitions are suspended after 3 within 10 min"
        ),
        (
            #","suspended":{"moves":3,"inMs":60000},"overdue":{"ms":500}"#,
            "next: menu overdue   automatic transitions are suspended after 3 within 60 s"
        ),
        (
            #","trouble":"cannot write /h: disk is full","overdue":{"ms":1}"#,
            "next: menu any moment   changes are refused: cannot write /h: disk is full"
        ),
    ])
    func whatKeepsAMachineFromWhatIsDueIsSaid(keys: String, text: String) throws {
        let due = #""due":{"state":"menu","data":{},"at":"2026-11-20T21:55:05.000000Z","leftMs":0}"#
        let line = try Line.of(#"{"type":"reply","ok":true,\#(Self.active),\#(due)\#(keys)}"#)
        let start = "authentication(phase: active)   12 s ago   #41   "
        #expect(LineText.fixed().report(line) == start + text)
    }

    @Test(arguments: [(100, "in 100 ms"), (999, "in 999 ms"), (1000, "in 1 s"), (1001, "in 2 s")])
    func whatIsDueWithinASecondIsSaidInMilliseconds(left: Int, text: String) throws {
        let due =
            #""due":{"state":"menu","data":{},"at":"2026-11-20T21:55:21.000000Z","leftMs":\#(left)}"#
        let line = try Line.of(#"{"type":"reply","ok":true,\#(Self.active),\#(due)}"#)
        #expect(LineText.fixed().report(line).hasSuffix("next: menu \(text)"))
    }

    @Test func aMachineThatDoesNotAnswerHasNoNameOfItsOwn() {
        let row = MachineRow(
            instance: Instance(name: "b", directory: RuntimeDirectory("/run/b")),
            error: "it does not answer"
        )
        #expect(!LineText.fixed().machines([row]).contains("unnamed"))
    }

    @Test(arguments: [
        (#""guard":1,"why":"the water is not hot","as":"ready""#, "guard 1", "required as ready"),
        (#""hold":1,"why":"year's end","as":"freeze""#, "hold 1", "taken as freeze"),
        (#""hold":1,"why":"year's end","away":true"#, "hold 1", "its client is away"),
    ])
    func aRefusalSaysWhyBeforeWhatElseThereIsToKnow(
        row: String,
        name: String,
        rest: String
    ) throws {
        let by = #"{"uid":0,"pid":812,\#(row)}"#
        let why = try #require(JSONValue(parsing: by)?["why"]?.string)
        let text = #"{"type":"reply","ok":false,"error":"denied","message":"m","by":[\#(by)]}"#
        let refusal = LineText.fixed().refusal(try Line.of(text))
        #expect(refusal == "denied by \(name) of root (812): \(why) (\(rest))")
    }

    @Test func theLinesOfAWatchStandInColumns() throws {
        #expect(
            try self.event(#"{"type":"state",\#(Self.active)}"#)
                == "21:55:03.120  #41     authentication(phase: active)"
        )
        #expect(
            try self.event(Self.change)
                == "21:55:04.000  #42     ready(true)                       "
                + "was authentication(phase: active)     by root (4711)  login"
        )
    }

    @Test(arguments: [
        // Of another day.
        ("2026-11-20", "2026-11-19", "2026-11-19 21:55:04.000  #42"),
        // A user without a name.
        (#""uid":0"#, #""uid":1000"#, "by uid 1000 (4711)"),
        // Nothing reaches the terminal that it would obey.
        ("login", #"\u001b[2J\n\u202e\u0007"#, #"\u{1b}[2J\u{a}\u{202e}\u{7}"#),
        (#","cursor""#, #","skipped":3,"cursor""#, "login  3 skipped"),
    ])
    func whatIsUnusualInALineIsShown(usual: String, unusual: String, shown: String) throws {
        let line = try #require(try self.event(Self.change.replacing(usual, with: unusual)))
        #expect(line.contains(shown))
    }

    @Test(arguments: [
        (
            #"{"type":"live","seq":42,"state":"ready","cursor":"7f3a9c:42"}"#,
            "— up to date at #42"
        ),
        // The time at which it came.
        (
            #"{"type":"beat","seq":41,"state":"ready","data":{"value":true}}"#,
            "21:55:15.120  #41     ready(true)                       still"
        ),
        (#"{"type":"bye","reason":"restart"}"#, nil), (#"{"type":"omen"}"#, nil),
    ])
    func whatIsNoChangeIsShownOrNot(line: String, shown: String?) throws {
        #expect(try self.event(line) == shown)
    }

    @Test(arguments: [
        (#","comm":"login""#, "root (4711, login)"),
        (#","comm":"login","unit":"login.service""#, "root (4711, login, login.service)"),
        (#","unit":"user@0.service/x.service""#, "root (4711, x.service)"),
        // The name of a session says nothing.
        (#","comm":"sh","unit":"session-3.scope""#, "root (4711, sh)"),
        (#","comm":"a\u001bb""#, "root (4711, a\\u{1b}b)"),
    ])
    func whatRunsThereIsShownBesideTheProcess(keys: String, words: String) throws {
        let row = try #require(JSONValue(parsing: #"{"uid":0,"pid":4711\#(keys)}"#))
        #expect(LineText.fixed().peer(row) == words)
    }

    @Test(arguments: [
        ("", "root (4711)"), (#","comm":"login""#, "root (login)"),
        (#","comm":"login","unit":"user@0.service/x.service""#, "root (x.service)"),
        (#","comm":"sh","unit":"session-3.scope""#, "root (sh)"),
    ])
    func whereThereIsLittleRoomOneOfThemIsShown(keys: String, words: String) throws {
        let row = try #require(JSONValue(parsing: #"{"uid":0,"pid":4711\#(keys)}"#))
        #expect(LineText.fixed().shortPeer(row) == words)
    }

    @Test func columnsStandWhereTheyStandWithoutColour() throws {
        let coloured = try #require(try self.event(Self.change, .coloured))
        let plain = coloured.replacing(/\u{1B}\[[0-9;]*m/, with: "")
        #expect(try self.event(Self.change) == plain)
    }

    @Test(arguments: [
        (#","resync":"restarted""#, "— the daemon was restarted; changes may have been missed"),
        (#","resync":"lagged","missed":5077"#, "— fell behind, 5077 missed"),
        (
            #","resync":"evicted","missed":2"#,
            "— the changes after the cursor are no longer kept, 2 missed"
        ),
        (
            #","resync":"unknown""#,
            "— the cursor is not from this daemon; changes may have been missed"
        ),
        (#","resync":"\u001b[2J""#, "— \\u{1b}[2J; changes may have been missed"),
    ])
    func whatWasMissedIsSaidInWords(keys: String, words: String) throws {
        let shown = try self.event(#"{"type":"state",\#(Self.active)\#(keys)}"#)
        #expect(shown == "21:55:03.120  #41     authentication(phase: active)     " + words)
    }

    @Test(arguments: [
        ("{}", "s"),
        (#"{"value":false}"#, "s(false)"),
        (#"{"value":1,"value2":"b c"}"#, #"s(1, "b c")"#),
        (#"{"phase":"true"}"#, #"s(phase: "true")"#),
        (#"{"phase":""}"#, #"s(phase: "")"#),
        (#"{"a":null,"b":[1,{"c":1.50}]}"#, #"s(a: null, b: [1,{"c":1.50}])"#),
        (#"{"value2":1}"#, "s(value2: 1)"),
    ])
    func valuesStandAsInSwift(data: String, text: String) throws {
        let line = try Line.of(#"{"type":"reply","state":"s","data":\#(data)}"#)
        #expect(line.state?.text == text)
    }

    @Test(arguments: [
        (-5, "just now"), (0, "just now"), (1, "1 s ago"), (119, "119 s ago"), (120, "2 min ago"),
        (7199, "119 min ago"), (7200, "2 h ago"), (172_799, "47 h ago"), (172_800, "2 days ago"),
    ])
    func anAgeIsGivenInTheUnitThatTellsMost(seconds: Int64, text: String) {
        let then = WallTime(microseconds: 0)
        let now = WallTime(microseconds: seconds * 1_000_000)
        #expect(LineText.age(of: then, at: now) == text)
    }

    @Test func aHistoryEndsWithWhereItGoesOn() throws {
        let more = try Line.of(#"{"type":"reply","ok":true,"count":2,"more":true}"#)
        #expect(
            LineText.fixed().end(ofHistory: more, at: "7f3a9c:42", order: .oldest)
                == "— there are more: --oldest-first --since 7f3a9c:42"
        )
        #expect(
            LineText.fixed().end(ofHistory: more, at: "7f3a9c:42", order: .newest)
                == "— there are more: -n all, or --until 7f3a9c:42"
        )
        let all = try Line.of(#"{"type":"reply","ok":true,"count":2,"more":false}"#)
        #expect(LineText.fixed().end(ofHistory: all, at: "7f3a9c:42", order: .newest) == nil)
        let old = try Line.of(#"{"type":"reply","ok":true,"count":2,"resync":"restarted"}"#)
        #expect(
            LineText.fixed().end(ofHistory: old, at: nil, order: .newest)
                == "— the daemon was restarted; changes may have been missed"
        )
    }

    /// The rows that the lines become on a terminal of `width` columns.
    private func rows(_ lines: [String], on width: Int) throws -> [String] {
        let text = LineText.fixed(width: width)
        let columns = Columns(width: width)
        return try lines.compactMap { text.event(try Line.of($0), in: columns) }
    }

    @Test(arguments: [40, 60, 80, 100, 200])
    func nothingIsLongerThanATerminalIsWide(width: Int) throws {
        let long = Self.change.replacing("login", with: String(repeating: "long ", count: 50))
        let resync = #"{"type":"state",\#(Self.active),"resync":"lagged","missed":5077}"#
        for row in try self.rows([Self.change, long, resync], on: width) {
            for line in row.split(separator: "\n") {
                #expect(String(line).columns <= width, "\(line)")
            }
        }
    }

    /// What a state begins with has the whole width, what follows is indented.
    @Test(arguments: [40, 60, 80]) func aLongStateIsFoldedWithinTheTerminal(width: Int) throws {
        let words = String(repeating: "ab cde ", count: 30)
        let long = Self.active.replacing(#""active""#, with: "\"\(words)\"")
        let line = try Line.of(#"{"type":"reply","ok":true,\#(long)}"#)
        let lines = LineText.fixed(width: width).report(line).split(separator: "\n")
        #expect(lines.count > 3)
        for line in lines { #expect(String(line).columns <= width, "\(line)") }
    }

    @Test func columnsGrowWithWhatComesAndStay() throws {
        let wide = Self.change.replacing(#""value":true"#, with: #""value":"a-rather-long-one""#)
        let rows = try self.rows([Self.change, wide, Self.change], on: 100)
        let was = "was authentication(phase…  by root (4711)  login"
        #expect(
            rows == [
                "21:55:04.000  #42     ready(true)           \(was)",
                "21:55:04.000  #42     ready(a-rather-long-one)  \(was)",
                "21:55:04.000  #42     ready(true)               \(was)",
            ]
        )
    }

    @Test(arguments: [
        (
            100,
            [
                "21:55:04.000  #42     ready(true)           was authentication(phase…  by root (4711)",
                "                      a cause that has more words than there is room for beside the rest",
            ]
        ),
        (
            60,
            [
                "21:55:04.000  #42     ready(true)   by root (4711)",
                "                      a cause that has more words than there",
                "                      is room for beside the rest",
            ]
        ),
    ])
    func whatHasNoRoomInARowStandsBelowTheState(width: Int, lines: [String]) throws {
        let cause = "a cause that has more words than there is room for beside the rest"
        let rows = try self.rows([Self.change.replacing("login", with: cause)], on: width)
        #expect(rows == [lines.joined(separator: "\n")])
    }

    @Test func aNarrowTerminalShowsWhatAndWhy() throws {
        let rows = try self.rows([Self.change], on: 40)
        #expect(rows == ["21:55:04  #42  ready(true)  login\n          by root (4711)"])
    }

    @Test func anAnswerThatHasNoRoomStandsOnSeveralLines() throws {
        let text = LineText.fixed(width: 40)
        let line = try Line.of(#"{"type":"reply","ok":true,\#(Self.active),"cause":"a long one"}"#)
        #expect(
            text.report(line) == """
                authentication(phase: active)   12 s ago
                    #41   a long one
                """
        )
    }

    @Test func whatIsLongerThanALineIsDividedBetweenWords() throws {
        let text = LineText.fixed(width: 24)
        let line = try Line.of(
            #"{"type":"reply","ok":true,"seq":41,"state":"a","data":{},"cause":"one that has more words than that"}"#
        )
        #expect(
            text.report(line) == """
                a   #41
                    one that has more
                    words than that
                """
        )
    }

    @Test func aPingIsTimedToAHundredthOfAMillisecond() throws {
        let line = try Line.of(#"{"type":"reply","ok":true,"seq":41}"#)
        let shown = LineText.fixed().answer(line, after: .microseconds(1049))
        #expect(shown == "answered in 1.05 ms   #41")
    }
}
