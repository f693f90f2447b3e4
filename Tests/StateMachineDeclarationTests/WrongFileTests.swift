import StateMachineCore
import StateMachineDeclaration
import Testing

@Suite struct WrongFileTests {
    /// What is said of each, and of wrong ones, is in the session of `statectl check`.
    @Test(arguments: try Fixture.names(in: "warned", ".yaml"))
    func warningsRefuseOnlyStrictly(name: String) throws {
        let reading = DeclarationReading(try Fixture.bytes("warned/\(name).yaml"))
        #expect(!reading.isRefused(strict: false))
        #expect(reading.isRefused(strict: true) == !reading.problems.isEmpty)
    }

    @Test func aFileThatIsTooLongOrNoTextIsRefusedWhole() {
        let long = [UInt8](repeating: UInt8(ascii: "#"), count: DeclarationReading.maxBytes + 1)
        let reading = DeclarationReading(long)
        #expect(
            reading.problems.map { $0.line(in: "f") } == [
                "f:1:1: the file is longer than 262144 bytes"
            ]
        )
        #expect(
            DeclarationReading([0x61, 0xFF]).problems.map { $0.line(in: "f") } == [
                "f:1:1: the file is not UTF-8"
            ]
        )
        let padded = Array("start: a\nstates: {a: {final: true}}\n#".utf8) + long.dropFirst(40)
        #expect(DeclarationReading(padded).problems.isEmpty)
    }

    @Test func aFileThatOthersMayWriteHasNoCommands() {
        let idle = Array("start: a\nstates: {a: {final: true}}\n".utf8)
        #expect(DeclarationReading(idle, refusingCommands: "no").problems.isEmpty)
        let hooked = Array("start: a\nstates: {a: {final: true, leave: /bin/true}}\n".utf8)
        let reading = DeclarationReading(hooked, refusingCommands: "other users may write to f")
        #expect(reading.declaration == nil)
        #expect(reading.problems.map { $0.line(in: "f") } == ["f:1:1: other users may write to f"])
        #expect(DeclarationReading(hooked).problems.isEmpty)
    }

    @Test func thousandsOfErrorsAreCutAtAThousand() {
        let keys = (0..<5000).map { "k\($0): x\n" }.joined()
        let problems = DeclarationReading(Array(keys.utf8)).problems
        #expect(problems.count == 1001)
        #expect(problems.last?.sentence == "there are more errors; correct these 1000 first")
    }

    @Test(arguments: [
        (
            "start: a\nstates:\n  é: \u{1}\n",
            "m:3:6: this is not YAML: control characters are not allowed (U+1)"
        ),
        ("\u{7F}: a\n", "m:1:1: this is not YAML: control characters are not allowed (U+7F)"),
    ])
    func aControlCharacterIsSaidWhereItStands(text: String, sentence: String) {
        let reading = DeclarationReading(Array(text.utf8))
        #expect(reading.problems.map { $0.line(in: "m") } == [sentence])
    }
}
