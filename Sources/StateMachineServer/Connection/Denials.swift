import StateMachineCore
import StateMachineProtocol

/// Those who are known to say no to a state, as a denied set is told of them.
struct Denials {
    /// How many are named.
    ///
    /// 16: more than anybody reads, and with reasons as long as they may be some 10 KB. Not tuned.
    private static let limit = 16

    /// The first of them.
    private let named: [Denial]
    /// How many there are beside those.
    private let more: Int

    /// Those whose votes decided, then the holds that block it too, by number.
    init(_ deciding: [Denial], and blocking: [SocketVoter], of state: EncodedState) {
        let known = Set(deciding.prefix(Self.limit).map(\.label))
        let others = blocking.filter { hold in
            hold.blocks(state) && !known.contains(VoterName.hold(hold.number).label)
        }
        let total = deciding.count + others.count
        let left = max(Self.limit - deciding.count, 0)
        let first = others.sorted { $0.number < $1.number }.prefix(left)
        self.named = deciding.prefix(Self.limit) + first.compactMap { $0.denial(of: state) }
        self.more = total - self.named.count
    }

    /// For people.
    var message: String {
        let reasons = self.named.map { $0.why.isEmpty ? $0.label : "\($0.label) (\($0.why))" }
        let rest = self.more > 0 ? " and \(self.more) more" : ""
        return "denied by \(reasons.joined(separator: ", "))\(rest)"
    }

    /// As they stand in the refusal.
    func write(to writer: inout LineWriter, ownPeer: Peer) {
        writer.json("by", .array(self.named.map { $0.json(ownPeer: ownPeer) }))
        if self.more > 0 { writer.number("more", self.more) }
    }
}

extension Denial {
    /// As it stands in `denied.by`.
    fileprivate func json(ownPeer: Peer) -> JSONValue {
        let name: JSONMember =
            switch VoterName(self) {
            case .hold(let number): JSONMember("hold", .count(number))
            case .guard(let number): JSONMember("guard", .count(number))
            case nil: JSONMember("delegate", .string(self.label))
            }
        let peer = self.peer ?? ownPeer
        return .object([
            name,
            JSONMember("uid", .count(peer.uid)),
            JSONMember("pid", .count(peer.pid)),
            JSONMember("why", .string(self.why)),
        ])
    }
}
