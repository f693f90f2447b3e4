import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A request line") struct RequestTests {
    @Test("means what the examples say, and as an object the same again")
    func meansWhatTheExamplesSay() throws {
        let examples = try Fixture.requests.examples("means")
        #expect(!examples.isEmpty)
        for (line, means) in examples {
            let request = try #require(try Request.parse(Array(line.utf8)), "\(line)")
            #expect(request.example.text == means.text, "\(line)")
            #expect(try Request.parse(Array(request.example.text.utf8)) == request, "\(line)")
        }
    }

    @Test("has an example for every operation and every key")
    func hasAnExampleForEverything() throws {
        let examples = try Fixture.requests.examples("means").map(\.value)
        for operation in Operation.allCases {
            let keys = examples.filter { $0["op"] == .string(operation.rawValue) }
                .flatMap { $0.members?.map(\.key) ?? [] }
            #expect(
                Set(keys) == Set(["op", "id"] + operation.keys.map(\.rawValue)),
                "\(operation)"
            )
        }
    }

    @Test("is refused as the examples say, byte for byte") func isRefusedAsTheExamplesSay() throws {
        let examples = try Fixture.refusals.examples("reply")
        #expect(!examples.isEmpty)
        for (line, reply) in examples {
            #expect(self.refusal(of: Array(line.utf8)) == reply.text + "\n", "\(line)")
        }
    }

    @Test("that is blank is nothing", arguments: ["", " ", "\t", "\r", " \t\r\u{B}\u{C} "])
    func thatIsBlankIsNothing(_ line: String) throws {
        #expect(try Request.parse(Array(line.utf8)) == nil)
    }

    @Test("of bare words is split at bytes, not at characters") func isSplitAtBytes() throws {
        // A mark that combines with the space before it begins a word.
        let request = try #require(try Request.parse(Array("wait \u{301}".utf8)))
        #expect(request.example.text == "{\"op\":\"wait\",\"until\":[\"\u{301}\"]}")
    }

    @Test("of bare words that is not UTF-8 is refused at that byte") func ofWordsMustBeUTF8() {
        let expected =
            #"{"type":"reply","ok":false,"error":"bad-json","offset":5,"#
            + #""message":"not UTF-8 at byte 5"}"# + "\n"
        #expect(self.refusal(of: Array("wait ".utf8) + [0xFF]) == expected)
    }

    @Test("takes an id of 128 bytes and none of 129") func limitsItsId() throws {
        func line(_ id: String) -> [UInt8] { Array(#"{"op":"get","id":"\#(id)"}"#.utf8) }
        let longest = String(repeating: "é", count: 64)
        #expect(try Request.parse(line(longest))?.id == .string(longest))
        let error = #expect(throws: RefusedRequest.self) { try Request.parse(line(longest + "x")) }
        #expect(error?.id == nil)
        #expect(error?.error.code == .badRequest)
        #expect(error?.error.message == "id is longer than 128 bytes of UTF-8")
    }

    @Test(
        "takes a cause and a why of 256 bytes",
        arguments: [
            (#"{"op":"set","state":"ready","#, "cause"),
            (#"{"op":"hold","before":["ready"],"#, "why"),
            (#"{"op":"guard","before":["ready"],"#, "why"),
            (#"{"op":"vote","ask":1,"allow":false,"#, "why"),
        ]
    )
    func takesALongText(_ beginning: String, _ key: String) throws {
        let text = String(repeating: "é", count: 128)
        let line = beginning + "\"\(key)\":\"\(text)\"}"
        let request = try #require(try Request.parse(Array(line.utf8)))
        #expect(request.example[key]?.string == text)
    }

    @Test(
        "that is long and wrong is answered in few words",
        arguments: [
            "LONG", #"{"op":"LONG"}"#, #"{"op":"get","LONG":1}"#, "get LONG", "set ready LONG",
            "set ready LONG=1 LONG=1", "wait ready:LONG", #"{"op":"set","state":"LONG"}"#,
            #"{"op":"get","id":{"LONG":1}}"#, #"{"op":"watch","only":"LONG"}"#,
            #"{"op":"watch","only":[{"state":"a","LONG":1}]}"#, #"{"op":"get","LONG":1,"LONG":1}"#,
            #"{"op":"watch","since":["LONG"]}"#, "wait ready:LONG=1",
            "release LONG", "hold LONG", "history LONG", #"{"op":"hold","before":["LONG"]}"#,
            #"{"op":"watch","mode":"LONG"}"#, #"{"op":"guard","before":["a"],"onTimeout":"LONG"}"#,
            #"{"op":"history","limit":"LONG"}"#, #"{"op":"vote","ask":1,"allow":"LONG"}"#,
        ]
    )
    func thatIsLongIsAnsweredInFewWords(_ form: String) {
        // Letters, and one character of sixty thousand bytes.
        for long in [String(repeating: "x", count: 60_000), "e" + self.marks(30_000)] {
            let line = form.split(separator: "LONG", omittingEmptySubsequences: false)
                .joined(separator: long)
            #expect((self.refusal(of: Array(line.utf8))?.utf8.count ?? .max) < 1000)
        }
        let digits = String(repeating: "1", count: 60_000)
        let refusal = self.refusal(of: Array(#"{"op":"get","id":\#(digits)}"#.utf8))
        #expect((refusal?.utf8.count ?? .max) < 1000)
    }

    private func marks(_ count: Int) -> String { String(repeating: "\u{301}", count: count) }

    /// The server's answer to a line whose request is invalid; nil if it is valid.
    private func refusal(of line: [UInt8]) -> String? {
        let bytes: [UInt8]
        do {
            guard let request = try Request.parse(line) else { return nil }
            do {
                try self.check(request.call)
                return nil
            } catch {
                bytes = ServerLine.refusal(id: request.id, error)
            }
        } catch {
            bytes = ServerLine.refusal(id: error.id, error.error)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func check(_ call: Request.Call) throws(WireError) {
        let coding = StateCoding<AppState>()
        if case .set(let call) = try coding.schema.resolved(call) {
            _ = try coding.state(call.state.text, data: call.data?.value)
        }
    }
}
