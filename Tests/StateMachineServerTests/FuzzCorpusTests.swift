import Foundation
import StateMachineProtocol
import Testing

/// The inputs that fuzzing begins with: whole requests, so that it gets past the first byte.
struct FuzzCorpusTests {
    @Test
    func everyInputIsARequestAndAllOperationsAreThere() throws {
        let corpus = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../contrib/fuzz/corpus").standardized
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
