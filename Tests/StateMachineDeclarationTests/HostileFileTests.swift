import Glibc
import StateMachineCore
import StateMachineDeclaration
import TestSupport
import Testing

@Suite struct HostileFileTests {
    private static func repeated(_ text: String, _ head: String = "") -> String {
        let count = (DeclarationReading.maxBytes - head.utf8.count) / text.utf8.count
        return head + String(repeating: text, count: count)
    }

    private static let files: [(name: String, text: String)] = [
        ("lists", Self.repeated("[")),
        ("lists in lines", Self.repeated("- ")),
        ("maps", Self.repeated("{a: ")),
        ("keys that are maps", Self.repeated("? ")),
        ("aliases", Self.repeated("*a, ", "a: &a [x]\nb: [")),
        ("values", Self.repeated("a,", "[")),
        ("doubled keys", Self.repeated("a: x\n")),
        ("unknown keys", (0..<25_000).map { "k\($0): x\n" }.joined()),
        ("states", "start: s1\nstates:\n" + (0..<10_000).map { "  s\($0): {to: any}\n" }.joined()),
        ("marks", Self.repeated("\u{301}\u{316}", "start: a")),
        ("one word", Self.repeated("x", "start: ")),
        ("quotes", Self.repeated("\"")),
        ("words", Self.repeated("x=1 ", "states: {a: {}}\nstart: a ")),
        ("colons", Self.repeated(": ")),
        ("comments", Self.repeated("#\n")),
        ("documents", Self.repeated("---\n")),
    ]

    @Test(.bounded, arguments: Self.files.map(\.name)) func noFileTakesLong(name: String) throws {
        let text = try #require(Self.files.first { $0.name == name }).text
        let before = Self.processorTime()
        let reading: DeclarationReading? = DeclarationReading(Array(text.utf8))
        let took = Self.processorTime() - before
        #expect(reading?.declaration == nil)
        #expect(reading?.problems.isEmpty == false)
        // 50 ms in a release build; many times that without optimization.
        #expect(took < .seconds(5))
    }

    /// The processor time of this thread alone.
    private static func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test func brokenFilesAreReadToAnEnd() throws {
        var random = SeededGenerator(seed: 1971)
        for name in ["kiosk", "ota", "worker"] {
            let original = try Fixture.bytes("machines/\(name).yaml")
            for _ in 0..<300 {
                let reading = DeclarationReading(Self.mutated(original, &random))
                #expect(reading.declaration != nil || !reading.problems.isEmpty)
                guard let declaration = reading.declaration else { continue }
                // A valid file can be drawn and simulated.
                #expect(!Drawing(declaration).plainText.isEmpty)
                var simulation = Simulation(declaration)
                try? simulation.pass(.seconds(3600))
                #expect(declaration.states.indices.contains(simulation.state.number))
            }
        }
    }

    private static func mutated(_ original: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: bytes.indices, using: &random)
            let length = min(Int.random(in: 1...12, using: &random), bytes.count - place - 1)
            guard length > 0 else { continue }
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes.removeSubrange(place..<(place + length))
            case 1: bytes[place] = UInt8.random(in: 0x20..<0x7F, using: &random)
            case 2:
                bytes.insert(contentsOf: bytes[place..<(place + length)], at: bytes.count / 2)
            case 3:
                let piece = [
                    "{", "}", "[", ": ", "- ", "\n  ", "#", "&a ", "*a", "\"", "!x ", "? ",
                ]
                bytes.insert(
                    contentsOf: (piece.randomElement(using: &random) ?? "").utf8,
                    at: place
                )
            default: bytes.swapAt(place, Int.random(in: bytes.indices, using: &random))
            }
        }
        return bytes
    }
}
