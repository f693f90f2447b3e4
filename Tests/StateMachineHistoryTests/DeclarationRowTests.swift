import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

/// The files that have declared the machine, as they are kept.
@Suite(.bounded) struct DeclarationRowTests {
    /// Two long files that come into force in turns.
    @Test func aTextThatComesAgainIsKeptOnce() async throws {
        try await withTemporaryDirectory { directory in
            let history = try History(directory: directory)
            let machine = history.makeMachine()
            let files = ["a", "b"].map { name in
                let text = String(repeating: name, count: 200_000)
                return RecordedDeclaration(hash: name, machine: nil, version: nil, text: text)
            }
            for turn in 0..<24 {
                try await machine.assign(.ready(turn % 2 == 0))
                let failure = await withCheckedContinuation { done in
                    let declared = Record.declared(files[turn % 2], from: machine.snapshot.seq)
                    history.history.record([declared]) {
                        done.resume(returning: $0.failure)
                    }
                }
                #expect(failure == nil)
            }
            let rows = try Database("\(directory)/statemachine.sqlite", .readOnly)
                .all("SELECT hash, length(text) FROM declaration ORDER BY id") { row in
                    (row.text(0) ?? "", Int(row.integer(1)))
                }
            #expect(rows.map(\.0) == (0..<24).map { $0 % 2 == 0 ? "a" : "b" })
            // The newest of each has it: the oldest are removed first.
            #expect(rows.map(\.1) == [Int](repeating: 0, count: 22) + [200_000, 200_000])
        }
    }
}
