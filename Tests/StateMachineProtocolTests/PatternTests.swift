import StateMachineCore
import Testing

@testable import StateMachineProtocol

@Suite("A pattern") struct PatternTests {
    @Test(
        "is a name with or without data",
        arguments: [
            ("ready", "ready", "{}"),
            ("ready:value=true", "ready", #"{"value":true}"#),
            ("a:b=1,c=x", "a", #"{"b":1,"c":"x"}"#),
            ("a:b=\"1\"", "a", #"{"b":"1"}"#),
            ("a:b=null", "a", #"{"b":null}"#),
            ("a:b=", "a", #"{"b":""}"#),
            ("a:b=x=y:z", "a", #"{"b":"x=y:z"}"#),
            ("a:b", "a", #"{"":"b"}"#),
            ("a:b={}", "a", #"{"b":{}}"#),
            ("a:b=tru", "a", #"{"b":"tru"}"#),
            ("a:b=1.50", "a", #"{"b":1.50}"#),
            (#"a:b:="x,y",c=z"#, "a", #"{"b":"x,y","c":"z"}"#),
            (#"a:b:="x\",y",c=z"#, "a", #"{"b":"x\",y","c":"z"}"#),
            (#"a:b=x:=[1,c=2]"#, "a", #"{"b":"x:=[1","c":"2]"}"#),
            (#"a:b:={"d":[1,2]}"#, "a", #"{"b":{"d":[1,2]}}"#),
            ("a:b=\u{301}", "a", "{\"b\":\"\u{301}\"}"),
            ("", "", "{}"),
        ]
    )
    func isANameWithData(_ text: String, _ state: String, _ data: String) throws {
        let pattern = try Pattern(text: text)
        #expect(pattern.name == state)
        #expect(JSONValue.object(pattern.data).text == data)
        #expect(pattern.written == .string(text))
        #expect(try Pattern(.string(text)) == pattern)
    }

    @Test(
        "may be an object, and is given back as it was written",
        arguments: [
            (#"{"state":"a"}"#, "{}"),
            (#"{"state":"a","data":{}}"#, "{}"),
            (#"{"data":{"c":[1.0],"b":{"d":null}},"state":"a"}"#, #"{"c":[1.0],"b":{"d":null}}"#),
            (#"{"state":"a","data":{"b":"a:b=1"}}"#, #"{"b":"a:b=1"}"#),
        ]
    )
    func isAnObject(_ text: String, _ data: String) throws {
        let pattern = try Pattern(JSONValue(reading: text))
        #expect(pattern.name == "a")
        #expect(JSONValue.object(pattern.data).text == data)
        #expect(pattern.written.text == text)
    }

    /// Those who hold states are found by these, so a place that is missing lets a held state through.
    @Test("covers no state that has none of its places")
    func hasAPlaceOfEachStateThatItCovers() throws {
        let values = [
            "1", "1.0", "10e-1", "2", "true", "null", #""1""#, #"{"c":1}"#, #"{"c":1,"d":2}"#,
            "[1]",
        ]
        let states = try ["a", "b", "c"].flatMap { name in
            try values.flatMap { one in
                try values.map { other in
                    (name, try JSONValue(reading: #"{"x":\#(one),"y":\#(other)}"#))
                }
            }
        }
        let group = StateGroup(
            "ab",
            of: [
                StateShape(0, "a", fields: [], successors: []),
                StateShape(1, "b", fields: [], successors: [], oldNames: ["c"]),
            ]
        )
        var patterns = [try Pattern(text: "a"), try group.resolved(Pattern(text: "ab"))]
        for one in values {
            patterns.append(try Pattern(text: "a:x:=\(one)"))
            for other in values { patterns.append(try Pattern(text: "b:y:=\(other),x:=\(one)")) }
        }
        patterns.append(try Pattern(text: "b").called(before: ["c"]))
        var count = 0
        for pattern in patterns {
            let places = try #require(PatternList([pattern]).buckets)
            for (name, data) in states where pattern.matches(name, data) {
                let numbers = PatternBucket.all(of: name, data, after: nil)
                #expect(!places.isDisjoint(with: numbers.map { Bucket($0) }))
                count += 1
            }
        }
        #expect(count > 500)
        // The same of an update: what it makes match stands at one of its places.
        count = 0
        let lists =
            patterns.map { [$0] } + [[patterns[0], !patterns[2]], [patterns[3], !patterns[4]]]
        for list in lists.map({ PatternList($0) }) {
            let places = try #require(list.buckets)
            for (index, (name, data)) in states.enumerated() {
                for (other, before) in states[..<index].suffix(25) where other.isSpelled(name) {
                    let isMade = list.comesToMatch(
                        { $0.matches(name, data) },
                        from: { $0.matches(name, before) }
                    )
                    guard isMade else { continue }
                    let numbers = PatternBucket.all(of: name, data, after: before)
                    #expect(!places.isDisjoint(with: numbers.map { Bucket($0) }))
                    count += 1
                }
            }
        }
        #expect(count > 500)
        #expect(PatternList([!patterns[0]]).buckets == nil)
        #expect(PatternList([!patterns[0], patterns[2]]).buckets?.count == 1)
        #expect(PatternList([]).buckets == [])
    }

    @Test("counts as inexact if a state of its place need not match")
    func countsThePatternsThatNeedNotMatch() throws {
        let exact = try ["a", "a:x=1", "b:y=on"].map { try Pattern(text: $0) }
        #expect(PatternList(exact).inexactPatterns == 0)
        #expect(PatternList(exact + [!exact[0]]).inexactPatterns == 4)
        let inexact = try ["a:x=1,y=2", "a:x:=[1]", #"a:x:={"c":1}"#].map { try Pattern(text: $0) }
        #expect(PatternList(exact + inexact).inexactPatterns == 3)
    }

    @Test(
        "is refused if it is neither",
        arguments: [
            ("1", .badRequest, "a pattern must be a string or an object, not of type number"),
            ("null", .badRequest, "a pattern must be a string or an object, not of type null"),
            ("[\"a\"]", .badRequest, "a pattern must be a string or an object, not of type array"),
            ("true", .badRequest, "a pattern must be a string or an object, not of type boolean"),
            ("{}", .badRequest, "a pattern needs the key \"state\", with a string"),
            (#"{"state":1}"#, .badRequest, "a pattern needs the key \"state\", with a string"),
            (
                #"{"state":"a","dat":{}}"#, .badRequest,
                "a pattern has no key \"dat\"; known: state, data, where, not"
            ),
            (#"{"state":"a","data":[]}"#, .badData, "\"data\" in a pattern must be an object"),
            (#"{"state":"a","data":null}"#, .badData, "\"data\" in a pattern must be an object"),
            (#""a:""#, .badRequest, "\"\" in pattern \"a:\" must be key=value"),
            (
                #""a:b,c""#, .badRequest,
                "\"c\" in pattern \"a:b,c\" is a second value without a name, after \"b\"; write key=value"
            ),
            (#""a:=1""#, .badRequest, "\"=1\" in pattern \"a:=1\" must be key=value"),
            (#""a:b=1,""#, .badRequest, "\"\" in pattern \"a:b=1,\" must be key=value"),
            (#""a:b=1,b=1""#, .badRequest, "\"b\" is given twice in pattern \"a:b=1,b=1\""),
        ] as [(String, ErrorCode, String)]
    )
    func isRefused(_ text: String, _ code: ErrorCode, _ message: String) {
        let error = #expect(throws: WireError.self) { _ = try Pattern(JSONValue(reading: text)) }
        #expect(error?.code == code)
        #expect(error?.message == message)
    }

    @Test(
        "matches states of its name that have its data",
        arguments: [
            (#""running""#, true),
            (#""running:id=7""#, true),
            (#""running:ratio=1""#, true),
            (#""running:ratio=10e-1,id=7""#, true),
            (#"{"state":"running","data":{"owner":{"uid":1000}}}"#, true),
            (#"{"state":"running","data":{"owner":{"groups":[4],"name":"ann"}}}"#, true),
            (#"{"state":"running","data":{"owner":{}}}"#, true),
            (#"{"state":"running","data":{"tags":["a","b"]}}"#, true),
            (#"{"state":"running","data":{"tags":["a"]}}"#, false),
            (#"{"state":"running","data":{"owner":{"uid":1001}}}"#, false),
            (#"{"state":"running","data":{"owner":{"home":"/"}}}"#, false),
            (#""running:id=8""#, false),
            (#""running:id=7,ratio=2""#, false),
            // An absent value does not match null.
            (#""running:note=null""#, false),
            (#""idle""#, false),
        ]
    )
    func matchesASubset(_ text: String, _ matches: Bool) throws {
        let coding = StateCoding<Job>()
        let pattern = try coding.schema.resolved(Pattern(JSONValue(reading: text)))
        let owner = Job.Owner(name: "ann", uid: 1000, groups: [4])
        let state = Job.running(id: 7, ratio: 1, tags: ["a", "b"], owner: owner, note: nil)
        #expect(coding.matches(pattern, state) == matches)
    }

    @Test(
        "in a list adds states, and takes states away with a mark",
        arguments: [
            (["ready"], "ready,true ready,false"),
            (["ready:true", "authentication"], "ready,true authentication"),
            (["!ready"], "authentication dataRetrieval"),
            (["!ready:true"], "ready,false authentication dataRetrieval"),
            (["!ready", "!authentication"], "dataRetrieval"),
            (["ready", "!ready:true"], "ready,false"),
            (["!ready:true", "ready", "authentication"], "ready,false authentication"),
            (["ready", "!ready"], ""),
            ([#"{"state":"ready","not":true}"#], "authentication dataRetrieval"),
            ([#"!{"state":"ready"}"#], "authentication dataRetrieval"),
            ([#"{"state":"ready","not":false}"#], "ready,true ready,false"),
            ([], ""),
        ]
    )
    func addsAndTakesAway(_ texts: [String], _ states: String) throws {
        let coding = StateCoding<AppState>()
        let list = PatternList(try texts.map { try coding.schema.resolved(Pattern(typed: $0)) })
        let all: [(String, AppState)] = [
            ("ready,true", .ready(true)), ("ready,false", .ready(false)),
            ("authentication", .authentication(.idle)), ("dataRetrieval", .dataRetrieval(.idle)),
        ]
        let selected = all.filter { state in list.contains { coding.matches($0, state.1) } }
        #expect(selected.map(\.0).joined(separator: " ") == states)
    }

    @Test("has an opposite, whose opposite it is") func hasAnOpposite() {
        let pattern: Pattern = "ready:value=true"
        #expect((!pattern).written == "!ready:value=true")
        #expect(!(!pattern) == pattern)
        let object: Pattern = ["state": "ready"]
        #expect((!object).written == ["state": "ready", "not": true])
        #expect(!(!object) == object)
    }
}
