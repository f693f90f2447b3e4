import StateMachineClient
import StateMachineProtocol
import StateMachineServer
import Testing

@testable import StateMachineLinks

/// What is made of the lines of a linked machine's daemon, whatever it says.
struct LinkReadingTests {
    private static let description =
        #"{"type":"reply","id":"describe","ok":true,"states":[{"state":"on","fields":{}},{"state":"off","fields":{}}]}"#

    private static func change(_ seq: Int, _ state: String, from: String = "on") -> String {
        #"{"type":"change","id":"watch","seq":\#(seq),"state":"\#(state)","data":{},"from":{"state":"\#(from)","data":{}},"cursor":"e:\#(seq)"}"#
    }

    private static func line(
        _ kind: String,
        _ seq: Int,
        _ state: String,
        _ rest: String = ""
    ) -> String {
        #"{"type":"\#(kind)","id":"watch","seq":\#(seq),"state":"\#(state)","data":{},"cursor":"e:\#(seq)"\#(rest)}"#
    }

    /// What is told, or what is said against it, a line for each.
    private func told(_ lines: [String], since cursor: String? = nil) -> [String] {
        var reading = LinkReading(on: "/s", since: cursor)
        var told: [String] = []
        do {
            for text in lines {
                guard let line = Line(Array(text.utf8)) else { return told + ["no line"] }
                for news in try reading.news(of: line) {
                    switch news {
                    case .described(let schema): told.append("states \(schema.names)")
                    case .state(let state, let cursor): told.append("\(state.name) \(cursor)")
                    case .unseen(let why): told.append(why)
                    }
                }
                if reading.takeIsOutdated() { told.append("describe") }
            }
        } catch let error as ClientError {
            told.append("refused: \(error)")
        } catch {
            told.append("\(error)")
        }
        return told
    }

    @Test func itGoesOnFromWhatWasLastSeen() {
        #expect(
            self.told(
                [
                    Self.description, Self.change(8, "off", from: "on"),
                    Self.change(9, "on", from: "off"),
                    Self.line("live", 9, "on"), Self.change(10, "off"),
                ],
                since: "e:7"
            ) == [
                #"states ["on", "off"]"#, "on e:7", "off e:8", "on e:9", "on e:9", "off e:10",
            ]
        )
        #expect(
            self.told([Self.description, Self.line("live", 7, "on")], since: "e:7").last == "on e:7"
        )
        #expect(
            self.told(
                [Self.description, Self.line("state", 3, "off", #","resync":"restarted""#)],
                since: "e:7"
            ).last == "off e:3"
        )
    }

    @Test func whatIsLostIsSaidByAState() {
        #expect(
            self.told([
                Self.description, Self.line("state", 3, "off"),
                Self.line("state", 900, "on", #","resync":"lagged","missed":896"#),
                Self.change(901, "off"),
                Self.line("state", 2, "on", #","resync":"restarted""#),
            ]).suffix(3) == ["on e:900", "off e:901", "on e:2"]
        )
    }

    @Test func anotherFileHasItAskedAgain() {
        let declared =
            #"{"type":"declared","id":"watch","seq":3,"declaration":"ab","cursor":"e:3"}"#
        #expect(
            self.told([Self.description, Self.line("state", 3, "off"), declared]).last == "describe"
        )
    }

    @Test func linesOfTheWatchThatConnectingBeganAreOfNoConcern() {
        let implied = #"{"type":"state","seq":7,"state":"on","data":{},"cursor":"e:7"}"#
        #expect(self.told([implied, #"{"type":"reply","ok":true}"#, #"{"type":"odd"}"#]) == [])
    }

    @Test(arguments: [
        ([Self.line("state", 3, "off"), Self.change(3, "on")], "sent change 3 after 3"),
        ([Self.line("state", 3, "off"), Self.change(5, "on")], "sent change 5 after 3"),
        ([Self.change(9, "on"), Self.change(8, "off")], "sent change 8 after 9"),
        ([Self.line("state", 3, "off"), Self.line("live", 2, "off")], "sent change 2 after 3"),
        (
            [#"{"type":"state","id":"watch","seq":"3","state":"on","data":{},"cursor":"e:3"}"#],
            "sent a state that is none"
        ),
        (
            [#"{"type":"change","id":"watch","seq":-3,"state":"on","data":{},"cursor":"e:3"}"#],
            "sent a change that is none"
        ),
        (
            [#"{"type":"state","id":"watch","seq":3,"state":7,"data":{},"cursor":"e:3"}"#],
            "sent a state that is none"
        ),
        (
            [#"{"type":"state","id":"watch","seq":3,"state":"on","data":[],"cursor":"e:3"}"#],
            "sent a state that is none"
        ),
        (
            [#"{"type":"state","id":"watch","seq":3,"state":"on","data":{}}"#],
            "sent a state that is none"
        ),
        (
            [
                #"{"type":"state","id":"watch","seq":3,"state":"on","data":{},"cursor":"\#(String(repeating: "e", count: 129))"}"#
            ],
            "sent a state that is none"
        ),
    ])
    func whatCannotBeEndsIt(lines: [String], why: String) {
        #expect(self.told([Self.description] + lines).last == "what answers on /s \(why)")
    }

    @Test(arguments: [
        #"{"type":"reply","id":"describe","ok":true}"#,
        #"{"type":"reply","id":"describe","ok":true,"states":{}}"#,
        #"{"type":"reply","id":"describe","ok":true,"states":[7]}"#,
    ])
    func whatDescribesNothingEndsIt(line: String) {
        #expect(self.told([line]) == ["what answers on /s describes no states"])
    }

    @Test func whatIsNotDescribedFirstEndsIt() {
        #expect(
            self.told([Self.line("state", 3, "off")]) == [
                "what answers on /s sent a state that is none"
            ]
        )
    }

    @Test func aRefusalEndsIt() {
        let refusal =
            #"{"type":"reply","id":"watch","ok":false,"error":"limit","message":"too many watches"}"#
        #expect(self.told([Self.description, refusal]).last == "refused: too many watches")
    }
}
