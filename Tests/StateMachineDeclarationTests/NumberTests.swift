import StateMachineDeclaration
import StateMachineProtocol
import Testing

/// Numbers that no double holds, in a file.
@Suite struct NumberTests {
    @Test(arguments: [
        ("ratio: {type: number, default: 1e400}", "ratio=1e400"),
        ("ratio: {type: number, default: -1e400}", "ratio=-1e400"),
        (#"table: {type: object, default: '{"a":[1e400]}'}"#, #"table={"a":[1e400]}"#),
    ])
    func oneIsNoDefault(field: String, value: String) {
        let reading = DeclarationReading(
            Array("start: a\nstates: {a: {fields: {\(field)}}}\n".utf8)
        )
        let sentences = reading.problems.map(\.sentence)
        #expect(
            sentences.contains("\(value): a number must be below 1.8e308 in size"),
            "\(sentences)"
        )
    }

    @Test func oneIsNoValueOfATarget() {
        let text = """
            start: a
            events: {go: {}}
            states:
              a: {when: {go: b ratio=1e309}}
              b: {fields: {ratio: number}}
            """
        let sentences = DeclarationReading(Array(text.utf8)).problems.map(\.sentence)
        #expect(
            sentences.contains("ratio=1e309: a number must be below 1.8e308 in size"),
            "\(sentences)"
        )
    }

    @Test func aSumThatIsOutOfRangeIsSaidToBeOnItsSide() throws {
        let text =
            "start: a\nstates: {a: {fields: {i: {type: integer, default: -1}, x: {type: number, default: -1e308}}}}\n"
        let state = try #require(DeclarationReading(Array(text.utf8)).declaration).initial
        func message(adding amount: JSONMember) -> String? {
            do {
                _ = try state.updated(with: [], adding: [amount])
                return nil
            } catch {
                return error.message
            }
        }
        #expect(
            message(adding: JSONMember("i", .number("-9223372036854775808")))
                == "i-=9223372036854775808: the field is -1, and the sum is smaller than any integer here can be"
        )
        #expect(
            message(adding: JSONMember("x", .number("-1.7e308")))
                == "x-=1.7e308: the field is -1e308, and the sum is smaller than any number here can be"
        )
    }
}
