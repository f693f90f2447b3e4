import NIOCore
import StateMachineCore
import StateMachineProtocol

/// A connection's client and its parts, each of which owns its own state.
///
/// Belongs to the event loop.
final class ConnectionParts {
    let server: StateServer
    let door: Door
    let peer: Peer
    let user: User
    let channel: any Channel

    let turn: ConnectionTurn
    let reader: RequestReader
    let outbox: Outbox
    let subscriptions: Subscriptions
    let history: HistoryAnswers
    let waits: Waits
    let voters: HoldsAndGuards
    let sets: Sets

    init(
        server: StateServer,
        door: Door,
        peer: Peer,
        channel: any Channel,
        descriptor: CInt
    ) {
        let user = server.users.account(of: peer.uid)
        let turn = ConnectionTurn(server.turns)
        let outbox = Outbox(
            server: server,
            user: user,
            channel: channel,
            descriptor: descriptor,
            turn: turn
        )
        let kept = KeptRequests(server: server, user: user)
        let changes = ChangeWriter(server: server, peer: peer, outbox: outbox, turn: turn)
        self.server = server
        self.door = door
        self.peer = peer
        self.user = user
        self.channel = channel
        self.turn = turn
        self.reader = RequestReader(channel)
        self.outbox = outbox
        self.subscriptions = Subscriptions(changes, kept: kept)
        self.history = HistoryAnswers(changes)
        self.waits = Waits(server: server, peer: peer, outbox: outbox, turn: turn, kept: kept)
        self.voters = HoldsAndGuards(server: server, peer: peer, outbox: outbox, kept: kept)
        self.sets = Sets(server: server, peer: peer, outbox: outbox, turn: turn)
    }

    /// Whether anything that the client has asked for is still going on or unanswered.
    var hasPending: Bool {
        self.subscriptions.count > 0 || self.waits.count > 0 || self.sets.count > 0
            || self.outbox.owesLateReply
    }
}
