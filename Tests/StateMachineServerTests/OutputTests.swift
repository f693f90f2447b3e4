import NIOCore
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineServer

/// When a connection's writing stops.
@Suite(.bounded) struct OutputTests {
    private func onOutput(_ body: @escaping @Sendable (Output) -> Void) async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"ping"}"#)
            #expect(lone.line().contains(#""seq":0"#))
            try await lone.onLoop { server in
                body(try #require(server.clients.first { _ in true }).output)
            }
        }
    }

    /// A beat tells where the machine is, and what its reader is due comes first.
    @Test(arguments: [#""only":["open"]"#, #""mode":"latest""#])
    func aBeatDoesNotGoBeforeWhatThereWasNoTimeFor(terms: String) async throws {
        try await LoneServer.run { lone in
            lone.send(#"{"op":"watch","beatMs":100,\#(terms)}"#)
            #expect(lone.line().contains(#""type":"state""#))
            try await lone.onLoop { server in
                let connection = try #require(server.clients.first { _ in true })
                for degrees in 0..<1000 { lone.machine.state = .open(degrees: degrees) }
                server.catchUp()
                let due = NIODeadline.now() + .milliseconds(150)
                while NIODeadline.now() < due {}
                let sent = connection.output.sent
                connection.pump(until: .uptimeNanoseconds(0))
                if terms.contains("latest") { #expect(connection.output.sent == sent) }
            }
            #expect(lone.line().contains(#""type":"change""#))
        }
    }

    @Test func theLastWritingEndsWhenItsTimeIsOver() async throws {
        try await self.onOutput { output in
            output.beginTurn()
            output.write(until: .now()) { #expect(output.mustStop()) }
            #expect(output.isCutShort)
        }
    }

    @Test func untilThenItDoesNotWaitForATurn() async throws {
        try await self.onOutput { output in
            output.beginTurn()
            output.write(until: .distantFuture) { #expect(!output.mustStop()) }
            #expect(!output.isCutShort)
        }
    }

    @Test func aWriteInTheMiddleOfAnotherDoesNotChangeItsTime() async throws {
        try await self.onOutput { output in
            output.beginTurn()
            output.write(until: .now()) {
                output.write(until: .distantFuture) {}
                #expect(output.mustStop())
            }
            output.write(until: .distantFuture) {
                output.write(until: .now()) {}
                #expect(!output.mustStop())
            }
        }
    }

    @Test func anAnswerFromTheHistoryIsStoppedWhereItIs() async throws {
        let request = try #require(try Request.parse(Array("history".utf8)))
        guard case .history(let call) = request.call else { return }
        try await self.onOutput { output in
            let runs = (0..<2).map { _ in
                HistoryRun(call, id: nil, after: 0, through: 10, resync: nil, request: [])
            }
            for run in runs { output.append(run) }
            output.append([1], replies: 0)
            output.stopHistory()
            #expect(runs.map(\.isDone) == [true, true])
        }
    }
}
