import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import TestSupport
import Testing

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

    @Test func statesOfOtherDeclarationsAreNotEqual() throws {
        let other = try declaration(Self.text)
        #expect(other.initial != self.machine.initial)
        #expect(other.initial == other.initial)
    }

    @Test func theStateIsWrittenSoThatATargetCanBeReadOfIt() throws {
        #expect(try self.state("open", #"{"s":"a b"}"#).written == #"open s="a b""#)
        #expect(try self.state("open", #"{"s":""}"#).written == #"open s="""#)
    }
}
