import StateMachineCore
import StateMachineProtocol

extension StateServer {
    /// Another declaration may come into force at any moment from now on; with nil: what is in force stays.
    func expect(_ next: StateSchema?) {
        self.declarations.expect(next)
        self.requirements.expect(next)
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
        self.clients.flatMap(\.parts.voters.void) + self.requirements.void
    }

    /// Another declaration is in force from that place on, which the ring has come to.
    func redeclared(_ declaration: RecordedDeclaration, at snapshot: EncodedSnapshot) {
        self.declarations.append(declaration, from: snapshot.seq)
        // What was made of requests and replies as the states were.
        self.prepared.forget()
        self.decodedStates = DecodedStates()
        self.showAgain(snapshot)
        for connection in self.clients {
            connection.parts.subscriptions.redeclared()
            connection.parts.waits.endImpossible()
        }
        self.scheduleFlush()
    }
}
