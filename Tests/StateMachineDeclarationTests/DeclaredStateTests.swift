import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineDeclaration

@Suite struct DeclaredStateTests {
    private static let text = """
        start: small
        states:
          small:
            fields:
              b: {type: boolean, default: false}
              w: {values: [x, "y", z], default: x}
              i: {type: integer, min: -5, max: 5, default: 0}
              k: {type: integer, values: [10, 20], default: 10}
              ob: {type: boolean, optional: true}
              oi: {type: integer, min: 0, max: 4294967295, optional: true}
              full: {type: integer, optional: true}
              other: {type: integer, default: -9223372036854775808}
              third: {type: integer, default: 9223372036854775807}
          open:
            fields:
              s: string
              n: {type: number, optional: true}
              a: {type: array, optional: true}
              o: {type: object, optional: true}
        """

    private let machine: Declaration

    init() throws { self.machine = try declaration(Self.text) }

    private func state(_ name: String, _ data: String) throws -> DeclaredState {
        let members = try #require(JSONValue(parsing: data)?.members)
        return try self.machine.state(name, data: members)
    }

    @Test func dataIsInDeclaredOrderAndAbsentFieldsAreNotThere() throws {
        let state = try self.state("small", #"{"oi":4294967295,"w":"z","i":-5,"ob":null}"#)
        #expect(
            [state.data].listed
                == #"{"b":false,"w":"z","i":-5,"k":10,"oi":4294967295,"#
                + #""other":-9223372036854775808,"third":9223372036854775807}"#
        )
        let open = try self.state("open", #"{"o":{"b":[1,null],"a":2},"s":""}"#)
        #expect([open.data].listed == #"{"s":"","o":{"b":[1,null],"a":2}}"#)
    }

    /// However short the text is, and wherever it stands.
    @Test(arguments: [
        #"{"s":"MARKS"}"#, #"{"s":"","a":[["MARKS"]]}"#, #"{"s":"","o":{"MARKS":1}}"#,
    ])
    func atMostThirtyCombiningMarksStandInARow(data: String) throws {
        func given(_ count: Int) -> String {
            data.replacing("MARKS", with: String(repeating: "\u{301}", count: count))
        }
        #expect(throws: Never.self) { try self.state("open", given(30)) }
        let refusal = #expect(throws: WireError.self) { try self.state("open", given(31)) }
        #expect(
            "\(String(describing: refusal))".contains(
                "must have at most 30 combining marks in a row"
            )
        )
    }

    /// As with integers.
    @Test(arguments: [" 3", "3 ", "\t3", "3\n"]) func aNumberHasNoWhiteSpace(text: String) throws {
        let open = try #require(self.machine.states.first { $0.name == "open" })
        let field = try #require(open.fields.first { $0.name == "n" })
        #expect(throws: Misfit.self) { try field.value(ofText: text) }
        #expect(try field.value(ofText: "3") == .number("3"))
    }

    @Test func whatIsPackedComesBack() throws {
        var random = SeededGenerator(seed: 20)
        var seen: [DeclaredState: String] = [:]
        for _ in 0..<2000 {
            func maybe(_ key: String, _ value: String) -> String? {
                Bool.random(using: &random) ? "\"\(key)\":\(value)" : nil
            }
            let members = [
                maybe("b", ["true", "false"].randomElement(using: &random) ?? "true"),
                maybe("w", ["\"x\"", "\"y\"", "\"z\""].randomElement(using: &random) ?? ""),
                maybe("i", "\(Int.random(in: -5...5, using: &random))"),
                maybe("k", Bool.random(using: &random) ? "10" : "20"),
                maybe("ob", Bool.random(using: &random) ? "true" : "false"),
                maybe("oi", "\(UInt32.random(in: 0...UInt32.max, using: &random))"),
                maybe("full", "\(Int64.random(in: .min ... .max, using: &random))"),
                maybe("other", "\(Int64.random(in: -1...1, using: &random))"),
                maybe("third", "\(Int64.random(in: -1...1, using: &random))"),
            ]
            let json = "{\(members.compactMap { $0 }.joined(separator: ","))}"
            let state = try self.state("small", json)
            let data = try #require(state.data.members)
            for member in try #require(JSONValue(parsing: json)?.members) {
                #expect(state[member.key] == member.value)
            }
            // The same data is the same state; different data is a different one.
            #expect(try self.machine.state("small", data: data) == state)
            let text = [state.data].listed
            #expect(seen[state, default: text] == text)
            seen[state] = text
        }
        #expect(Set(seen.values).count == seen.count)
    }

    @Test func openFieldsCountForEquality() throws {
        let state = try self.state("open", #"{"s":"a","a":["x"]}"#)
        #expect(state == (try self.state("open", #"{"s":"a","a":["x"]}"#)))
        #expect(state != (try self.state("open", #"{"s":"a","a":["y"]}"#)))
        #expect(state != (try self.state("open", #"{"s":"a"}"#)))
        #expect(state.hashValue == (try self.state("open", #"{"a":["x"],"s":"a"}"#)).hashValue)
    }

    @Test func integersHaveNoSpelling() throws {
        #expect(try self.state("small", #"{"full":-0}"#) == self.state("small", #"{"full":0}"#))
    }

    @Test func theStateIsWrittenSoThatATargetCanBeReadOfIt() throws {
        #expect(try self.state("open", #"{"s":"a b"}"#).written == #"open s="a b""#)
        #expect(try self.state("open", #"{"s":""}"#).written == #"open s="""#)
    }

    @Test(arguments: [
        (#"{"o":{"a":1,"b":[2]}}"#, #"{"o":{"b":[2.0],"a":1}}"#, true),
        (#"{"o":{"a":1}}"#, #"{"o":{"a":1,"b":null}}"#, false),
        (#"{"a":[1,2]}"#, #"{"a":[2,1]}"#, false),
        (#"{"a":[{"x":10}]}"#, #"{"a":[{"x":1e1}]}"#, true),
        (#"{"x":1}"#, #"{"x":1.0}"#, true),
        (#"{"x":1}"#, #"{"x":-1}"#, false),
        (#"{"x":0}"#, #"{"x":-0.0}"#, true),
        (#"{"s":"1"}"#, #"{"s":"1.0"}"#, false),
    ])
    func equalityIsOfValues(left: String, right: String, areEqual: Bool) throws {
        let machine = try declaration(
            """
            start: a
            states:
              a:
                fields:
                  o: {type: object, optional: true}
                  a: {type: array, optional: true}
                  x: {type: number, optional: true}
                  s: {type: string, optional: true}
            """
        )
        let states = try [left, right].map { data in
            try machine.state("a", data: JSONValue(parsing: data)?.members ?? [])
        }
        #expect((states[0] == states[1]) == areEqual)
        #expect(Set(states).count == (areEqual ? 1 : 2))
        // Each is written as it was given.
        #expect(states.map(\.data.description) == [left, right])
    }

    @Test(arguments: [
        ("max: 10", "10.0000000000000000001", "must be at most 10"), ("max: 10", "10.0", nil),
        ("max: 10", "1e1", nil), ("max: 0.1", "0.1", nil),
        ("max: 0.1", "0.10000000000000000001", "must be at most 0.1"),
        ("min: 9007199254740993", "9007199254740992", "must be at least 9007199254740993"),
        ("min: 9007199254740993", "9007199254740993", nil),
        ("min: -0.5", "-0.51", "must be at least -0.5"),
        ("min: -2, max: -1", "-1.5", nil), ("min: 0", "-0", nil),
        ("min: 0", "-1e-300", "must be at least 0"),
        ("max: 1e30", "1000000000000000000000000000001", "must be at most 1e30"),
    ])
    func boundsAreExact(bounds: String, value: String, objection: String?) throws {
        let machine = try declaration(
            "start: a\nstates: {a: {fields: {x: {type: number, optional: true, \(bounds)}}}}\n"
        )
        let field = machine.states[0].fields[0]
        #expect(field.misfit(of: .number(value))?.sentence == objection)
    }

    private static func a(_ count: Int) -> String { String(repeating: "a", count: count) }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (a(55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (a(56), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        (a(64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (a(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func aTextHasItsHash(text: String, hash: String) {
        #expect(SHA256.hexadecimal(of: Array(text.utf8)) == hash)
    }

    @Test func aKeyThatIsThereTwiceIsNamed() {
        let text =
            #"start: a\nstates: {a: {fields: {o: {type: object, default: '{"a":1,"b":{"c":1,"c":2}}'}}}}\n"#
        let sentences = DeclarationReading(Array(text.replacing("\\n", with: "\n").utf8)).problems
            .map(\.sentence)
        #expect(
            sentences.contains { $0.hasSuffix(#"the key "c" is there twice in one object"#) },
            "\(sentences)"
        )
    }
}
