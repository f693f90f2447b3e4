import StateMachineProtocol
import TestSupport
import Testing

@Suite("Whatever arrives as a line") struct RequestFuzzTests {
    @Test("is a request, a refusal or nothing", arguments: [1, 2, 3, 4] as [UInt64])
    func isARequestARefusalOrNothing(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<4000 {
            let count = Int.random(in: 0...60, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            self.expectAnAnswer(to: bytes)
            self.expectAnAnswer(to: [UInt8(ascii: "{")] + bytes)
        }
    }

    @Test("even if it was a request once", arguments: [5, 6, 7, 8] as [UInt64])
    func evenIfItWasARequestOnce(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let lines = try Fixture.requests.examples("means").map { Array($0.line.utf8) }
        var requests = 0
        for _ in 0..<8000 {
            guard var line = lines.randomElement(using: &generator) else { continue }
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                self.mutate(&line, from: lines, using: &generator)
            }
            if self.expectAnAnswer(to: line) { requests += 1 }
        }
        // Some mutations must leave valid requests, or only the parser's first steps would be
        // tested.
        #expect(requests > 200)
    }

    private func mutate(
        _ line: inout [UInt8],
        from lines: [[UInt8]],
        using generator: inout SeededGenerator
    ) {
        let interesting = Array("{}[]\",:\\ue0-.9 \t=".utf8) + [0x00, 0x7F, 0x80, 0xC3, 0xED, 0xFF]
        let place = Int.random(in: 0...line.count, using: &generator)
        let end = min(line.count, place + Int.random(in: 0...8, using: &generator))
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: line.removeSubrange(place..<end)
        case 1: line.insert(contentsOf: line[place..<end], at: place)
        case 2: line.removeSubrange(place...)
        case 3:
            guard let other = lines.randomElement(using: &generator) else { return }
            line.replaceSubrange(place..., with: other.suffix(other.count / 2))
        default:
            guard let byte = interesting.randomElement(using: &generator) else { return }
            line.replaceSubrange(place..<min(line.count, place + 1), with: [byte])
        }
    }

    /// Returns whether it is a request.
    @discardableResult
    private func expectAnAnswer(to line: [UInt8]) -> Bool {
        do {
            guard let request = try Request.parse(line) else {
                #expect(line.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) })
                return false
            }
            // Written out in full, it means the same.
            self.expectNoError {
                let again = try Request.parse(Array(request.object.text.utf8))
                #expect(again == request)
            }
            return true
        } catch {
            #expect(!error.error.message.isEmpty)
            #expect((error.error.code == .badJSON) == (error.error.offset != nil))
            #expect((error.error.offset ?? 0) <= line.count)
            let reply = ServerLine.refusal(id: error.id, error.error)
            #expect(reply.last == UInt8(ascii: "\n"))
            #expect(!reply.dropLast().contains(UInt8(ascii: "\n")))
            self.expectNoError {
                var parser = JSONParser(reply)
                _ = try parser.parse()
            }
            return false
        }
    }

    private func expectNoError(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            Issue.record(error)
        }
    }
}
