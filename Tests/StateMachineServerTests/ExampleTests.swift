import Foundation
import StateMachineProtocol
import Testing

/// Lines with which other people's programs begin: parsers are tested with the specification's
/// examples, and fuzzing begins with whole requests.
struct ExampleTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    private static func lines(_ path: String) throws -> [String] {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
            .utf8.split(separator: UInt8(ascii: "\n")).map { String(Substring($0)) }
    }

    /// What servers have sent in the recorded sessions.
    private static func sent() throws -> [String] {
        let fence = "Tests/EndToEndTests/Fence"
        let sessions = try FileManager.default
            .contentsOfDirectory(atPath: Self.root.appending(path: fence).path)
            .filter { $0.hasSuffix(".session") }
        return try sessions.flatMap { try Self.lines("\(fence)/\($0)") }
            .compactMap { $0.wholeMatch(of: /[A-F]?\| (\{"type":.*)/).map { String($0.1) } }
    }

    /// What depends on who asks, and when.
    private static let left: Set = ["id", "comm", "unit", "ageMs", "stayMs", "began"]
    private static let kept: Set = [
        "type", "ok", "error", "message", "reason", "resync", "limit", "selected", "replay",
        "changed", "handled", "more",
    ]

    /// What a line consists of: its keys in their order, and the words that are always the same.
    private static func shape(_ value: JSONValue, of key: String = "") -> String {
        if key == "data" { return "{}" }
        if let members = value.members {
            return "{"
                + members.filter { member in
                    !Self.left.contains(member.key)
                        && (member.key != "by" || member.value.elements != nil)
                }
                .map { "\($0.key):\(Self.shape($0.value, of: $0.key))" }.joined(separator: ",")
                + "}"
        }
        if let elements = value.elements {
            return "[" + Set(elements.map { Self.shape($0, of: key) }).sorted().joined() + "]"
        }
        guard Self.kept.contains(key) else { return value.string == nil ? "0" : "text" }
        return value.description.replacing(/[-0-9]+T[:.0-9]+Z/, with: "TIME")
            .replacing(/[0-9]+/, with: "0")
    }

    /// What no session can have a server send, or only at a moment that nobody chooses.
    private static let others = [
        #"dataRetrieval may not follow authentication"#, #""message":"the state is too long"#,
        #""delegate":"editor""#, #"the daemon's own program set the state"#,
        #"hold 7 belongs to user 1001"#, #""resync":"lagged""#, #"no event \"nosuch\""#,
        #""error":"bad-file""#, #""skipped":3"#, #""type":"progress""#, #""reason":"restart""#,
        #""limit":"connectionsPerUid""#, #""reason":"refused""#,
        "which is no change of this numbering", "only root, anna and @operators",
        // A row of each kind, which no machine there has together.
        #""possible":{"set":"#,
    ]

    @Test(arguments: ["replies", "watches"]) func aServerSendsTheExamples(_ name: String) throws {
        let sent = try Set(
            Self.sent().compactMap {
                JSONValue(parsing: $0.replacing(/":N(?=[,}\]])/, with: "\":0")).map {
                    Self.shape($0)
                }
            }
        )
        for line in try Self.lines("Tests/StateMachineProtocolTests/Fixtures/\(name).jsonl") {
            let shape = try Self.shape(#require(JSONValue(parsing: line)))
            let isOther = Self.others.contains { line.contains($0) }
            #expect(sent.contains(shape) != isOther, "\(line)")
        }
    }

    /// Byte for byte, except for the version.
    @Test func aServerDescribesItselfAsInTheExamples() throws {
        let sent = try Set(Self.sent())
        for line in try Self.lines("Tests/StateMachineProtocolTests/Fixtures/descriptions.jsonl") {
            let recorded = line.replacing(/"version":"[^"]*"/, with: #""version":"V""#)
            #expect(sent.contains(recorded), "\(line)")
        }
    }

    @Test func everyInputOfFuzzingIsARequestAndAllOperationsAreThere() throws {
        let corpus = Self.root.appending(path: "contrib/fuzz/corpus")
        let inputs = try FileManager.default.contentsOfDirectory(
            at: corpus,
            includingPropertiesForKeys: nil
        )
        #expect(inputs.count > 20)
        var operations: Set<StateMachineProtocol.Operation> = []
        for input in inputs {
            let request = try Request.parse(Array(try Data(contentsOf: input)))
            operations.insert(try #require(request, "\(input.lastPathComponent)").operation)
        }
        #expect(operations == Set(StateMachineProtocol.Operation.allCases))
    }
}
