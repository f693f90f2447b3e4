import StateMachineProtocol

/// Answers to requests that are stored on disk first.
///
/// Until they are given, no other request of the connection is read.
///
/// Belongs to the event loop.
final class LateReplies {
    private let outbox: Outbox
    private let turn: ConnectionTurn

    private var last: UInt64 = 0
    /// The replies on success, each with its place among them.
    private var pending: [(place: UInt64, reply: [UInt8])] = []

    init(outbox: Outbox, turn: ConnectionTurn) {
        self.outbox = outbox
        self.turn = turn
    }

    /// Whether there are none.
    var isEmpty: Bool { self.pending.isEmpty }

    /// Queues a reply to be sent later; returns its place among them.
    func begin(_ reply: [UInt8]) -> UInt64 {
        self.last += 1
        self.pending.append((self.last, reply))
        return self.last
    }

    /// Sends the reply at a place, or the refusal if there was a failure.
    func end(_ place: UInt64, _ failure: String?, refusal: (String) -> [UInt8]) {
        self.end(place) { reply in failure.map(refusal) ?? reply }
    }

    /// Sends what `answer` makes of the reply at a place.
    func end(_ place: UInt64, _ answer: ([UInt8]) -> [UInt8]) {
        guard let index = self.pending.firstIndex(where: { $0.place == place }) else { return }
        let reply = self.pending.remove(at: index).reply
        guard !self.outbox.isClosed else { return }
        self.outbox.reply(answer(reply))
        self.turn.want()
    }

    /// Sends all of them: the next process takes over what they are about, and keeps it.
    func endAll() {
        for (_, reply) in self.pending { self.outbox.reply(reply) }
        self.pending = []
    }
}
