import StateMachineCore
import StateMachineProtocol

extension StateServer {
    /// Another declaration may come into force at any moment from now on; with nil: what is in force stays.
    func expect(_ next: StateSchema?) {
        self.declarations.expect(next)
        self.kept.expect(next)
        for connection in self.clients {
            if let next {
                connection.parts.voters.expect(next)
            } else {
                connection.parts.voters.redeclared()
            }
        }
    }

    /// The holds and guards that no state can concern any more, for the log.
    var voidVoters: [SocketVoter] {
        self.clients.flatMap(\.parts.voters.void) + self.kept.void
    }

    /// Another declaration is in force from that place on, which the ring has come to.
    func redeclared(_ declaration: RecordedDeclaration, at snapshot: EncodedSnapshot) {
        self.declarations.append(declaration, from: snapshot.seq)
        // What was made of replies as the states were.
        self.prepared.forget()
        self.showAgain(snapshot)
        for connection in self.clients {
            connection.parts.subscriptions.redeclared()
            connection.parts.waits.endImpossible()
        }
        self.scheduleFlush()
    }

    /// The answer to `reload`.
    func answer(to result: ReloadResult, id: RequestID?) -> [UInt8] {
        if let first = result.problems.first {
            self.counters.refusals.add()
            let others = result.problems.count - 1
            let error = WireError(.badFile, others > 0 ? "\(first) (and \(others) more)" : first)
            return ServerLine.refusal(id: id, error, report: self.report) { writer in
                writer.json(.problems, .array(result.problems.map { .string($0) }))
            }
        }
        return ServerLine.reply(id: id, report: self.report) { writer in
            if let declaration = self.machine.declaration {
                writer.string(.declaration, declaration.hash)
                if let version = declaration.version { writer.string(.version, version) }
            }
            if !result.later.isEmpty {
                writer.json("atNextStart", .array(result.later.map { .string($0) }))
            }
            if result.needsSuccessor { writer.bool("restarts", true) }
        }
    }
}
