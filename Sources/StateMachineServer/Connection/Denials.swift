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

    /// The required guards among them that are not connected: name and since when, by label.
    private let missing: [String: (name: String, since: WallTime)]

    /// Lists those whose votes decided, then the others that block the state, by number.
    init(_ deciding: [Vote.Denial], and blocking: [SocketVoter], of state: EncodedState) {
        let known = Set(deciding.prefix(Self.limit).map(\.label))
        let others = blocking.filter { voter in
            voter.blocks(state) && !known.contains(voter.name.label)
        }
        var missing: [String: (name: String, since: WallTime)] = [:]
        for voter in blocking {
            guard case .missing(let since) = voter.terms, let name = voter.required else {
                continue
            }
            missing[voter.name.label] = (name, since)
        }
        self.missing = missing
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
        let name: JSONMember =
            switch VoterName(denial) {
            case .hold(let number): JSONMember("hold", .count(number))
            case .guard(let number): JSONMember("guard", .count(number))
            case nil: JSONMember("delegate", .string(denial.label))
            }
        let peer = denial.peer ?? ownPeer
        var members = [
            name,
            JSONMember("uid", .count(peer.uid)),
            JSONMember("pid", .count(peer.pid)),
        ]
        if let comm = peer.comm { members.append(JSONMember("comm", .string(comm))) }
        if let unit = peer.unit { members.append(JSONMember("unit", .string(unit))) }
        members.append(JSONMember("why", .string(denial.why)))
        if let (name, since) = self.missing[denial.label] {
            members.append(JSONMember("required", .string(name)))
            members.append(JSONMember("missing", .string(since.rfc3339)))
        }
        return .object(members)
    }
}
