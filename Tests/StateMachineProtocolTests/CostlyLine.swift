/// A line of any length that was designed to take its reader a long time.
struct CostlyLine: Sendable {
    let name: String
    /// The line with about that many bytes.
    let bytes: @Sendable (Int) -> [UInt8]

    private init(_ name: String, _ line: @escaping @Sendable (Int) -> String) {
        self.name = name
        self.bytes = { Array(line($0).utf8) }
    }

    private init(_ name: String, bytes: @escaping @Sendable (Int) -> [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// Combining marks in the order that costs the most to sort.
    private static func marks(_ bytes: Int) -> String {
        let half = max(bytes / 4, 1)
        return String(repeating: "\u{301}", count: half) + String(repeating: "\u{316}", count: half)
    }

    /// About `bytes` bytes of pieces, separated by commas.
    private static func list(_ bytes: Int, _ piece: (Int) -> String) -> String {
        var (text, number) = ("", 0)
        text.reserveCapacity(bytes)
        while text.utf8.count < bytes - 16 {
            if number > 0 { text += "," }
            text += piece(number)
            number += 1
        }
        return text
    }

    private static func times(_ text: String, _ bytes: Int) -> String {
        String(repeating: text, count: max(bytes / text.utf8.count, 1))
    }

    /// Places in a line where a client's own text stands.
    private static let places: [(String, String, String)] = [
        ("a key", #"{"op":"get",""#, #"":1}"#),
        ("an op", #"{"op":""#, #""}"#),
        ("an id", #"{"op":"get","id":""#, #""}"#),
        ("a state", #"{"op":"set","state":""#, #""}"#),
        ("a listed value", #"{"op":"set","state":"text","data":{"value":true,"phase":""#, #""}}"#),
        ("a value", #"{"op":"set","state":"text","data":{"value":""#, #""}}"#),
        ("a word", #"{"op":"set","state":"word","data":{"value":""#, #""}}"#),
        ("an element", #"{"op":"set","state":"list","data":{"value":["a",""#, #""]}}"#),
        ("a field", #"{"op":"set","state":"text","data":{""#, #"":1}}"#),
        ("a key of a table", #"{"op":"set","state":"table","data":{"value":{""#, #"":1}}}"#),
        ("a cause", #"{"op":"set","state":"blank","cause":""#, #""}"#),
        ("a cursor", #"{"op":"watch","since":""#, #""}"#),
        ("a seq", #"{"op":"watch","since":"0a:"#, #""}"#),
        ("a mode", #"{"op":"watch","mode":""#, #""}"#),
        ("a pattern", #"{"op":"watch","only":[""#, #""]}"#),
        ("a pattern's data", #"{"op":"watch","only":["text:value="#, #""]}"#),
        ("a pattern's word", #"{"op":"wait","until":["word:value="#, #""]}"#),
        ("a pattern's key", #"{"op":"wait","until":[{"state":"text","data":{""#, #"":1}}]}"#),
        ("a pattern object's key", #"{"op":"wait","until":[{"state":"text",""#, #"":1}]}"#),
        ("a why", #"{"op":"vote","ask":1,"allow":true,"why":""#, #""}"#),
        ("a condition", #"{"op":"set","state":"blank","ifState":""#, #""}"#),
        ("a word of a bare line", "wait ", ""),
        ("a bare value", "set text value=", ""),
        ("a bare operation", "", ""),
    ]

    /// Texts for those places.
    private static let texts: [(String, @Sendable (Int) -> String)] = [
        ("marks", { Self.marks($0) }),
        ("marks behind letters", { Self.times("e" + Self.marks(120), $0) }),
        ("escaped marks", { Self.times(#"\u0316\u0301"#, $0) }),
        ("surrogates", { Self.times(#"\ud83d\ude00"#, $0) }),
        ("letters", { Self.times("a", $0) }),
        ("colons", { Self.times(":", $0) }),
        ("assignments", { size in Self.list(size) { "k\($0)=1" } }),
        ("digits", { Self.times("1", $0) }),
        ("jamo", { Self.times("\u{1100}\u{1161}\u{11A8}", $0) }),
        ("joiners", { Self.times("\u{1F468}\u{200D}", $0) }),
    ]

    private static let texted: [CostlyLine] = Self.places.flatMap { place, before, after in
        Self.texts.map { what, text in
            CostlyLine("\(what) in \(place)") { before + text($0) + after }
        }
    }

    /// Values for where a value is expected.
    private static let values: [(String, @Sendable (Int) -> String)] = [
        ("digits", { Self.times("7", $0) }),
        ("a fraction", { "0." + Self.times("0", $0) + "1" }),
        ("digits and an exponent", { Self.times("7", $0) + "e-2000000000" }),
        ("nesting", { Self.times("[", $0) }),
        ("empty arrays", { size in "[\(Self.list(size) { _ in "[]" })]" }),
        (
            "nested arrays",
            { size in
                "[\(Self.list(size) { _ in Self.times("[", 60) + Self.times("]", 60) })]"
            }
        ),
        ("numbers", { size in "[\(Self.list(size) { _ in "1" })]" }),
        ("short texts", { size in "[\(Self.list(size) { _ in "\"a\"" })]" }),
        ("patterns", { size in "[\(Self.list(size) { "\"p\($0)\"" })]" }),
        (
            "long patterns",
            { size in
                "[\((0..<32).map { "\"text:value=\($0)\(Self.marks(size / 34))\"" }.joined(separator: ","))]"
            }
        ),
        ("keys", { size in "{\(Self.list(size) { "\"k\($0)\":1" })}" }),
        (
            "keys, the last of which stands twice",
            { size in
                "{\(Self.list(size) { "\"k\($0)\":1" }),\"k0\":1}"
            }
        ),
        ("keys of marks", { size in "{\(Self.list(size) { "\"\(Self.marks(600))\($0)\":1" })}" }),
        (
            "keys of marks that differ at their ends",
            { size in
                "{\(Self.list(size) { "\"\(Self.marks(60))\($0)\":1" })}"
            }
        ),
    ]

    private static let valued: [CostlyLine] = [
        ("id", #"{"op":"get","id":"#),
        ("data", #"{"op":"set","state":"table","data":"#),
        ("a text", #"{"op":"set","state":"text","data":{"value":"#),
        ("a ratio", #"{"op":"set","state":"ratio","data":{"value":"#),
        ("a count", #"{"op":"set","state":"count","data":{"value":"#),
        ("a list", #"{"op":"set","state":"list","data":{"value":"#),
        ("a table", #"{"op":"set","state":"table","data":{"value":"#),
        ("ifSeq", #"{"op":"set","state":"blank","ifSeq":"#),
        ("only", #"{"op":"watch","only":"#),
        ("since", #"{"op":"watch","since":"#),
        ("a pattern of a ratio", #"{"op":"wait","until":[{"state":"ratio","data":{"value":"#),
        ("a pattern of a table", #"{"op":"wait","until":[{"state":"table","data":{"value":"#),
        ("an unknown key", #"{"op":"get","x":"#),
    ].flatMap { place, before in
        Self.values.map { what, value in
            // As many closing brackets as there are open ones.
            let depth = before.reduce(0) { $0 + ($1 == "{" ? 1 : 0) }
            let end = before.contains("[") ? "}}]}" : String(repeating: "}", count: depth)
            return CostlyLine("\(what) as \(place)") { before + value($0) + end }
        }
    }

    private static let others: [CostlyLine] = [
        CostlyLine("spaces") { Self.times(" ", $0) },
        CostlyLine("spaces in an object") { "{" + Self.times(" ", $0) + "}" },
        CostlyLine("spaces before an object") { Self.times(" ", $0) + #"{"op":"get"}"# },
        CostlyLine("words") { "wait " + Self.times("a ", $0) },
        CostlyLine("bare members") { size in
            "set text " + Self.list(size) { "k\($0)=1" }.replacing(",", with: " ")
        },
        CostlyLine("tops") { size in "{\(Self.list(size) { "\"k\($0)\":1" })}" },
        CostlyLine("bytes that are no text", bytes: { Array(repeating: 0xC3, count: $0) }),
        CostlyLine(
            "a bare text with a wrong end",
            bytes: { Array(repeating: 0x61, count: $0) + [0xFF] }
        ),
        CostlyLine(
            "a text with a wrong end",
            bytes: {
                Array(#"{"op":"get","id":""#.utf8) + Array(repeating: 0x61, count: $0) + [0xFF]
            }
        ),
        CostlyLine(
            "wrong bytes in escapes",
            bytes: { Array((#"{"op":""# + Self.times(#"\n\/"#, $0)).utf8) + [0xED, 0xA0, 0x80] }
        ),
    ]

    static let all = Self.texted + Self.valued + Self.others
}
