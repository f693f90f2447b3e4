import StateMachineCore
import StateMachineProtocol

/// A declaration that watches are told of.
struct Declared {
    let hash: String
    let version: String?
    /// The first change whose state it declares.
    let seq: UInt64

    init(_ declaration: RecordedDeclaration, from seq: UInt64) {
        self.hash = declaration.hash
        self.version = declaration.version
        self.seq = seq
    }
}

extension StateServer {
    /// Another declaration may come into force at any moment from now on; with nil: what is in force stays.
    func expect(_ next: StateSchema?) {
        self.nextSchema = next
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
        self.tell(Declared(declaration, from: snapshot.seq))
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

    /// The next declaration that a watch has not been told of; nil if there is none.
    func nextDeclared(for watch: Watch) -> Declared? {
        watch.declarations < self.declared.count ? self.declared[watch.declarations] : nil
    }

    /// The hash of the newest declaration that a watch knows.
    func hash(knownTo watch: Watch) -> String? {
        watch.declarations > 0 ? self.declared[watch.declarations - 1].hash : nil
    }

    /// Which declarations a watch of the last process knows, where it knew that one: it is told of the present
    /// one if that is another.
    func declarations(knownBefore hash: String?) -> Int {
        guard let hash, let present = self.declared.last, present.hash != hash else {
            return self.declared.count
        }
        return self.declared.count - 1
    }
}
