import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A set read without a tree")
struct SetLineTests {
    private func withLine<Result>(
        _ line: [UInt8],
        _ body: (SetLine?) throws -> Result
    ) rethrows -> Result {
        try line.withUnsafeBytes { try body(SetLine($0)) }
    }

    @Test("is what the parser makes of it")
    func isWhatTheParserMakesOfIt() throws {
        let line = #" { "op":"set","id":7, "state":"ready" ,"data":{"value":true},"cause":"x/y"} "#
        try self.withLine(Array(line.utf8)) { found in
            let found = try #require(found)
            #expect(found.id == .integer(7))
            #expect(found.cause == "x/y")
            #expect(String(decoding: found.state, as: UTF8.self) == "ready")
            #expect(String(decoding: found.data, as: UTF8.self) == #"{"value":true}"#)
        }
    }

    @Test(
        "is left to the parser if there is anything else in it",
        arguments: [
            #"{"op":"get"}"#, #"{"state":"ready"}"#, #"{"op":"set"}"#, "set ready value=true",
            #"{"op":"set","state":"ready","ifSeq":4}"#, #"{"op":"set","state":"r\u0065ady"}"#,
            #"{"op":"set","state":"ready","state":"ready"}"#, #"{"op":"set","state":"ready"} x"#,
            #"{"op":"set","state":"ready",}"#, #"{"op":"set","state":"rëady"}"#,
            #"{"op":"set","state":"ready","id":01}"#, #"{"op":"set","state":"ready","id":1.0}"#,
            #"{"op":"set","state":"ready","id":9007199254740992}"#,
            #"{"op":"set","state":"ready","data":{"value":"}"}"#,
            #"{"op":"set","state":"ready","data":[]}"#, #"{"op":"set" "state":"ready"}"#,
            #"{"op":"set","state":"ready","id":null}"#,
            #"{"op":"set","state":"ready","cause":"\#(String(repeating: "x", count: 257))"}"#,
        ]
    )
    func isLeftToTheParser(_ line: String) {
        #expect(self.withLine(Array(line.utf8)) { $0 == nil })
    }

    @Test("never differs from the parser", arguments: 1...8 as ClosedRange<UInt64>)
    func neverDiffersFromTheParser(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let line = Array(
            #"{"op":"set","id":"a1","state":"ready","data":{"value":[true,{}]},"cause":"c"}"#.utf8
        )
        let interesting = Array("{}[]\",:\\u012-.eoapsit \t".utf8) + [0x00, 0x7F, 0x80]
        var sets = 0
        for _ in 0..<20_000 {
            var line = line
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                let place = Int.random(in: 0..<line.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: line.remove(at: place)
                case 1: line.insert(interesting.randomElement(using: &generator) ?? 0, at: place)
                default: line[place] = interesting.randomElement(using: &generator) ?? 0
                }
            }
            if self.agrees(line) { sets += 1 }
        }
        #expect(sets > 500)
    }

    /// Returns whether both parsers found a set in it.
    private func agrees(_ line: [UInt8]) -> Bool {
        self.withLine(line) { found in
            guard let found else { return false }
            // Data counts only if it is valid JSON without doubled keys.
            var parser = JSONParser(Array(found.data))
            let data = found.data.isEmpty ? nil : try? parser.parse()
            guard found.data.isEmpty || data != nil, parser.doubledKey == nil else { return false }
            do {
                let request = try Request.parse(line)
                let call = SetCall(
                    state: String(decoding: found.state, as: UTF8.self),
                    data: data,
                    cause: found.cause
                )
                #expect(request?.id == found.id)
                #expect(request?.call == .set(call))
                return true
            } catch {
                Issue.record(error, "\(String(decoding: line, as: UTF8.self))")
                return false
            }
        }
    }

    @Test("names a state only if all bytes are those that named it")
    func namesAStateOnlyIfAllBytesAreThose() throws {
        let state = TypedValue(AppState.ready(true))
        var states = DecodedStates()
        let known = Array(#"{"op":"set","state":"ready","data":{"value":true}}"#.utf8)
        self.withLine(known) { line in
            if let line { states.keep(state, for: line) }
        }
        let again = Array(#"{"data":{"value":true},"id":3,"state":"ready","op":"set"}"#.utf8)
        #expect(self.withLine(again) { $0.flatMap { states[$0] } } === state)
        for other in [
            #"{"op":"set","state":"ready","data":{"value":tru}}"#,
            #"{"op":"set","state":"ready","data":{"value": true}}"#,
            #"{"op":"set","state":"ready"}"#,
            #"{"op":"set","state":"read","data":{"value":true}}"#,
        ] {
            #expect(self.withLine(Array(other.utf8)) { $0.flatMap { states[$0] } } == nil)
        }
    }
}
