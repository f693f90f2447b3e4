import CAllocations
import StateMachineCore
import TestSupport
import Testing

@testable import StateMachineProtocol

@Suite("A pattern that compares") struct ComparisonTests {
    private static let schema = StateCoding<Job>().schema

    private static func pattern(_ text: String) throws -> Pattern {
        try Self.schema.resolved(Pattern(typed: text))
    }

    private static func job(
        id: UInt64 = 7,
        ratio: Double = 1,
        note: String? = nil
    ) -> Job {
        .running(id: id, ratio: ratio, tags: ["a"], owner: Job.Owner(name: "ann"), note: note)
    }

    @Test(
        "has a name before its first operator",
        arguments: [
            ("a:b>=1", "{}", "b>=1"),
            ("a:b<1", "{}", "b<1"),
            ("a:b<=1", "{}", "b<=1"),
            ("a:b>1", "{}", "b>1"),
            ("a:b!=1", "{}", "b!=1"),
            ("a: b >= 1 ,c=2", #"{"c":2}"#, "b>=1"),
            ("a:b>=40,b<60", "{}", "b>=40 b<60"),
            ("a:b>=40,b=50", #"{"b":50}"#, "b>=40"),
            ("a:b<x=y", "{}", "b<x=y"),
            ("a:b!=", "{}", "b!="),
            ("a:b>==1", "{}", "b>==1"),
            ("a:b_c-1>x", "{}", "b_c-1>x"),
            ("a:größe>2", "{}", "größe>2"),
            // With the operator right behind the name, what follows is the value as it stands.
            ("a:b= x ", #"{"b":" x "}"#, ""),
            ("a: b= x ", #"{"b":" x "}"#, ""),
            ("a:b = x ", #"{"b":"x"}"#, ""),
            ("a:b\t=\tx", #"{"b":"x"}"#, ""),
            ("a:b=x<y", #"{"b":"x<y"}"#, ""),
            ("a:b=x!=y", #"{"b":"x!=y"}"#, ""),
            ("a:b:=[1,2],c!=3", #"{"b":[1,2]}"#, "c!=3"),
            // What is before the first operator is no name.
            ("a:<b>", #"{"":"<b>"}"#, ""),
            ("a:1<2", #"{"":"1<2"}"#, ""),
            ("a:b c<2", #"{"":"b c<2"}"#, ""),
            ("a:b!", #"{"":"b!"}"#, ""),
            ("a:b!c", #"{"":"b!c"}"#, ""),
            ("a:b:>=1", #"{"b:>":1}"#, ""),
            (#"{"state":"a","where":["b >= 1","c=x, y","b!=2"]}"#, "{}", "b>=1 c=x, y b!=2"),
            (#"{"state":"a","where":[],"data":{"b":1}}"#, #"{"b":1}"#, ""),
        ]
    )
    func hasANameBeforeItsFirstOperator(
        _ text: String,
        _ data: String,
        _ comparisons: String
    ) throws {
        let written = text.hasPrefix("{") ? try JSONValue(reading: text) : .string(text)
        let pattern = try Pattern(written)
        #expect(pattern.name == "a")
        #expect(JSONValue.object(pattern.data).text == data)
        #expect(pattern.comparisonTexts.map(\.text).joined(separator: " ") == comparisons)
        #expect(pattern.written == written)
        // What is compared is part of what a pattern is.
        let plain = try Pattern(text: "a")
        #expect(comparisons.isEmpty || pattern.rewritten != plain.rewritten)
        #expect(pattern.rewritten.comparisonTexts == pattern.comparisonTexts)
    }

    @Test(
        "judges the encoded state exactly",
        arguments: [
            ("running:id>=7", true), ("running:id>7", false), ("running:id<=7", true),
            ("running:id<7", false), ("running:id!=7", false), ("running:id!=8", true),
            ("running:ratio<1", false), ("running:ratio<=1.0", true),
            ("running:ratio<=10e-1", true), ("running:ratio!=1.00", false),
            ("running:ratio>0.99999999999999999999999999", true),
            ("running:ratio>=1.00000000000000000000000001", false),
            ("running:id>6,id<8", true), ("running:id>6,ratio>1", false),
            ("running:id=7,ratio>=1", true), ("running:id>=7,ratio=2", false),
            // Absent.
            ("running:note!=x", false), ("!running:note!=x", true), ("!running:id>7", true),
            ("!running:id>=7", false), ("idle", false), ("failed:before>=0", false),
            (#"{"state":"running","where":["id>=7","ratio=1"]}"#, true),
            (#"{"state":"running","where":["id>=7"],"data":{"ratio":2}}"#, false),
            (#"{"state":"running","where":["id<7"],"not":true}"#, true),
        ]
    )
    func judgesTheEncodedState(_ text: String, _ isSelected: Bool) throws {
        let coding = StateCoding<Job>()
        let list = PatternList([try Self.pattern(text)])
        #expect(list.contains { coding.matches($0, Self.job()) } == isSelected)
        // As it is read from the history.
        let value = TypedValue(Self.job())
        let encoded = Self.schema.encoded(value)
        let recorded = RecordedTransition.State(name: encoded.name, data: encoded.dataText)
        var seen = recorded.seen
        #expect(list.contains { seen.isCovered(by: $0) } == isSelected)
        #expect(!seen.isDamaged)
    }

    @Test("tells integers apart that no double does, and texts by their bytes")
    func comparesExactly() throws {
        func covers(_ text: String, _ job: Job) throws -> Bool {
            let pattern = try Self.pattern(text)
            return StateCoding<Job>().matches(pattern, job)
        }
        let large: UInt64 = 1 << 53
        #expect(try covers("running:id>\(large)", Self.job(id: large + 1)))
        #expect(try !covers("running:id>\(large + 1)", Self.job(id: large + 1)))
        #expect(try covers("running:id<\(UInt64.max)", Self.job(id: .max - 1)))
        #expect(try !covers("running:id<\(UInt64.max)", Self.job(id: .max)))
        #expect(try covers("running:ratio<0.1000000000000000001", Self.job(ratio: 0.1)))
        #expect(try covers("running:ratio>=-1e-320", Self.job(ratio: 0)))
        #expect(try covers("running:note!=e\u{301}", Self.job(note: "é")))
        #expect(try !covers("running:note!= é ", Self.job(note: "é")))
        #expect(try covers("running:note!=null", Self.job(note: "x")))
    }

    @Test(
        "is refused where it can mean nothing",
        arguments: [
            (
                "running:ide>=7", .badData,
                #"running has no field "ide"; known: id, ratio, tags, owner, note"#
            ),
            ("idle:id>=7", .badData, #"idle has no field "id"; it has none"#),
            ("running:id>=x", .badData, "id>=x: write a whole number"),
            ("running:id!=7.5", .badData, "id!=7.5: write a whole number"),
            ("running:id<", .badData, "id<: write a whole number"),
            ("running:ratio>=much", .badData, "ratio>=much: write a number, like 1.5"),
            (
                "running:ratio<1e400", .badData,
                "ratio<1e400: a number must be below 1.8e308 in size"
            ),
            (
                "running:note<x", .badData,
                "note<x: note is a string, and has no order; use = or !="
            ),
            (
                "running:tags!=a", .badData,
                "tags!=a: tags is an array; only booleans, numbers and strings are compared"
            ),
            (
                #"{"state":"running","where":["owner=ann"]}"#, .badData,
                "owner=ann: owner is an object; only booleans, numbers and strings are compared"
            ),
            (
                "stopped:reason!=aksed", .badData,
                "reason!=aksed: must be one of asked, idle; did you mean asked?"
            ),
            ("stopped:level>=2", .badData, "level>=2: must be one of 1, 10"),
            (
                "maybe:value>true", .badData,
                "value>true: value is a boolean, and has no order; use = or !="
            ),
            ("maybe:value!=maybe", .badData, "value!=maybe: write true or false"),
            (
                #"{"state":"running","where":"id>=7"}"#, .badRequest,
                #""where" in a pattern must be a list of strings, like ["percent>=50"]"#
            ),
            (
                #"{"state":"running","where":["id"]}"#, .badRequest,
                #""id" in "where" must be a field, one of = != < <= > >=, and a value, like percent>=50"#
            ),
            (
                #"{"state":"running","where":["id:=7"]}"#, .badRequest,
                #""id:=7" in "where" must be a field, one of = != < <= > >=, and a value, like percent>=50"#
            ),
            (
                #"{"state":"running","where":[7]}"#, .badRequest,
                #""7" in "where" must be a field, one of = != < <= > >=, and a value, like percent>=50"#
            ),
        ] as [(String, ErrorCode, String)]
    )
    func isRefused(_ text: String, _ code: ErrorCode, _ message: String) {
        let error = #expect(throws: WireError.self) {
            let value = text.hasPrefix("{") ? try JSONValue(reading: text) : .string(text)
            _ = try Self.schema.resolved(Pattern(value))
        }
        #expect(error?.code == code)
        #expect(error?.message == message)
    }

    @Test("has at most 64 comparisons") func hasAtMostSixtyFourComparisons() throws {
        let some = Array(repeating: "\"id>1\"", count: 64).joined(separator: ",")
        #expect(throws: Never.self) {
            try Pattern(JSONValue(reading: #"{"state":"running","where":[\#(some)]}"#))
        }
        let error = #expect(throws: WireError.self) {
            try Pattern(JSONValue(reading: #"{"state":"running","where":[\#(some),"id>1"]}"#))
        }
        #expect(error?.code == .limit)
        #expect(error?.message == "\"where\" has more than 64 comparisons")
    }

    @Test("in a group compares a field that all members have, of one type")
    func comparesInAGroup() throws {
        let shapes = [
            StateShape(
                0,
                "a",
                fields: [Field("n", type: .integer), Field("s", type: .string)],
                successors: []
            ),
            StateShape(
                1,
                "b",
                fields: [Field("n", type: .integer), Field("s", type: .number)],
                successors: [],
                oldNames: ["c"]
            ),
        ]
        let group = StateGroup("ab", of: shapes)
        let pattern = try group.resolved(Pattern(text: "ab:n>=5"))
        for (name, n, isCovered) in [
            ("a", 5, true), ("b", 4, false), ("c", 6, true), ("d", 6, false),
        ] {
            #expect(pattern.matches(name, ["n": .integer(n)]) == isCovered)
        }
        let error = #expect(throws: WireError.self) {
            try group.resolved(Pattern(text: "ab:s!=5"))
        }
        #expect(
            error?.message
                == #"the states of ab do not all have a field "s" of one type; they share n"#
        )
        let wrong = #expect(throws: WireError.self) {
            try group.resolved(Pattern(text: "ab:n>=x"))
        }
        #expect(wrong?.message == "n>=x: write a whole number")
        #expect(wrong?.code == .badData)
    }

    /// Without optimization, a value of a generic type is boxed wherever it is passed on.
    private static let isOptimized: Bool = {
        #if DEBUG
        false
        #else
        true
        #endif
    }()

    @Test(
        "is judged without allocation",
        .enabled(if: Self.isOptimized, "counted in an optimized build"),
        .enabled(if: allocations_are_counted(), "a sanitizer has an allocator of its own"),
        arguments: [
            "running:id=7", "running:id>=7", "running:id<\(UInt64.max)", "running:id!=7,id<9",
            "running:ratio<=1.50",
            "running:ratio>1.2500000000000000000000001",
            "running:note!=something else that is long",
            "running:ratio!=125e-2",
        ]
    )
    func isJudgedWithoutAllocation(_ text: String) throws {
        let pattern = try Self.pattern(text)
        let schema = Self.schema
        let value: Value = TypedValue(
            Self.job(id: 1 << 60, ratio: 1.25, note: "a text that is no short one")
        )
        _ = schema.matches(pattern, value)
        let before = allocations_of_this_thread()
        var count = 0
        for _ in 0..<100 where schema.matches(pattern, value) { count += 1 }
        #expect(allocations_of_this_thread() - before == 0)
        #expect(count == 0 || count == 100)
    }

    // MARK: - The index

    private static let numbers = [
        "-3", "-0", "0", "1", "1.0", "10e-1", "2", "3", "0.5", "0.1", "0.1000000000000000000001",
        "0.0999999999999999999999", "9007199254740992", "9007199254740993", "9007199254740994",
        "9007199254740993.0", "18446744073709551615", "18446744073709551616", "-1e400", "1e400",
        "1e-400", "1e99999999999", "-1e99999999999", "0e99999999999", "1.7976931348623157e308",
        "1.7976931348623158e308",
    ]
    private static let others = ["null", "true", #""1""#, #""x""#, "[1]", #"{"c":1}"#]

    private static func data(_ dice: inout SeededGenerator) throws -> JSONValue {
        let members = try ["x", "y"].compactMap { key -> JSONMember? in
            switch Int.random(in: 0..<10, using: &dice) {
            case 0: nil
            case 1, 2:
                JSONMember(
                    key,
                    try JSONValue(reading: Self.others.randomElement(using: &dice) ?? "")
                )
            default:
                JSONMember(
                    key,
                    try JSONValue(reading: Self.numbers.randomElement(using: &dice) ?? "")
                )
            }
        }
        return .object(members)
    }

    private static func pattern(_ dice: inout SeededGenerator) throws -> Pattern {
        let texts = (0..<Int.random(in: 0...2, using: &dice)).map { _ in
            let comparator = Comparator.allCases.randomElement(using: &dice) ?? .equal
            let operand =
                (Bool.random(using: &dice) ? Self.numbers : Self.numbers + Self.others)
                .randomElement(using: &dice) ?? ""
            let name = Bool.random(using: &dice) ? "x" : "y"
            return JSONValue.string("\(name)\(comparator.rawValue)\(operand)")
        }
        var members = [JSONMember("state", Bool.random(using: &dice) ? "a" : "b")]
        if Int.random(in: 0..<4, using: &dice) == 0 {
            members.append(JSONMember("data", try Self.data(&dice)))
        }
        members.append(JSONMember("where", .array(texts)))
        if Int.random(in: 0..<6, using: &dice) == 0 { members.append(JSONMember("not", true)) }
        return try Pattern(.object(members))
    }

    /// Those who hold states are found by these, so one that is missing lets a held state through.
    @Test("is found wherever plain matching selects", arguments: Chance.seeds)
    func isFoundWhereverItSelects(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var (made, found, inVain) = (0, 0, 0)
        for _ in 0..<Chance.steps(5000) {
            let patterns = try (0..<Int.random(in: 1...2, using: &dice)).map { _ in
                try Self.pattern(&dice)
            }
            let list = PatternList(patterns)
            let name = Bool.random(using: &dice) ? "a" : "b"
            let data = try Self.data(&dice)
            let before = Bool.random(using: &dice) ? try Self.data(&dice) : nil
            let isMade = list.comesToMatch(
                { $0.matches(name, data) },
                from: before.map { before in { $0.matches(name, before) } }
            )
            let isWanted = list.contains { $0.matches(name, data) }
            guard let voters = list.buckets, let readers = list.readerBuckets else {
                #expect(list.hasExceptions)
                continue
            }
            let numbers = Set(PatternBucket.all(of: name, data, after: before))
            let stretches = PatternBucket.stretches(of: name, data, after: before)
            let isFound = voters.contains { bucket in
                numbers.contains(bucket.number) || stretches.contains { $0.holds(bucket) }
            }
            #expect(!isMade || isFound, "\(list.written) \(data) \(before ?? .null)")
            let readerNumbers = Set(PatternBucket.all(of: name, data))
            let readerStretches = PatternBucket.stretches(of: name, data)
            let isRead = readers.contains { bucket in
                readerNumbers.contains(bucket.number)
                    || readerStretches.contains { $0.holds(bucket) }
            }
            #expect(!isWanted || isRead, "\(list.written) \(data)")
            made += isMade ? 1 : 0
            found += isFound ? 1 : 0
            if isFound, !isMade, list.inexactPatterns == 0 { inVain += 1 }
        }
        #expect(made > 500)
        // Only by numbers that doubles do not tell apart.
        #expect(inVain < found / 10, "\(inVain) of \(found)")
    }
}
