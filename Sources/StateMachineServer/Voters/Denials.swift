import StateMachineCore
import StateMachineProtocol

/// The voters known to deny a state, as a denied set is told about them.
struct Denials {
    /// How many are named.
    ///
    /// 16: more than anybody reads, and some 10 KB with the longest reasons. Not tuned.
    private static let limit = 16

    /// The first of them.
    private let named: [Vote.Denial]
    /// How many there are besides those.
    private let more: Int

    /// Those that belong to no connection, by label.
    private let standing: [String: SocketVoter]

    /// Lists those whose votes decided, then the others that block the state, by number.
    init(_ deciding: [Vote.Denial], and blocking: [SocketVoter], of state: Value) {
        let known = Set(deciding.prefix(Self.limit).map(\.label))
        let others = blocking.filter { voter in
            voter.blocks(state) && !known.contains(voter.label)
        }
        let standing = blocking.filter { $0.isAway || $0.name != nil }
        self.standing = Dictionary(standing.map { ($0.label, $0) }) { first, _ in first }
        let total = deciding.count + others.count
        let left = max(Self.limit - deciding.count, 0)
        let first = others.sorted { $0.number < $1.number }.prefix(left)
        self.named = deciding.prefix(Self.limit) + first.compactMap { $0.denial(of: state) }
        self.more = total - self.named.count
    }

    /// The denials in words, for people.
    var message: String {
        let reasons = self.named.map { $0.why.isEmpty ? $0.label : "\($0.label) (\($0.why))" }
        let rest = self.more > 0 ? " and \(self.more) more" : ""
        return "denied by \(reasons.joined(separator: ", "))\(rest)"
    }

    /// Writes the denials into the refusal.
    func write(to writer: inout LineWriter, ownPeer: Peer) {
        writer.json("by", .array(self.named.map { self.json($0, ownPeer: ownPeer) }))
        if self.more > 0 { writer.number("more", self.more) }
    }

    /// A denial as it stands in `denied.by`.
    private func json(_ denial: Vote.Denial, ownPeer: Peer) -> JSONValue {
        // Only a client's voter has a peer, so a delegate's label is never taken for one.
        let words = denial.label.split(separator: " ")
        let number = denial.peer == nil ? nil : words.last.flatMap { UInt64($0) }
        let name =
            number.map { JSONMember(String(words[0]), .integer($0)) }
            ?? JSONMember("delegate", .string(denial.label))
        let peer = denial.peer ?? ownPeer
        var members = [
            name,
            JSONMember("uid", .integer(peer.uid)),
            JSONMember("pid", .integer(peer.pid)),
        ]
        if let comm = peer.comm { members.append(JSONMember("comm", .string(comm))) }
        if let unit = peer.unit { members.append(JSONMember("unit", .string(unit))) }
        members.append(JSONMember("why", .string(denial.why)))
        guard let voter = self.standing[denial.label] else { return .object(members) }
        if case .missing(let since) = voter.terms {
            members.append(JSONMember("required", .string(voter.name ?? "?")))
            members.append(JSONMember("missing", .string(since.rfc3339)))
        } else if let name = voter.name {
            members.append(JSONMember("as", .string(name)))
        }
        if voter.isAway { members.append(JSONMember("away", true)) }
        return .object(members)
    }
}
