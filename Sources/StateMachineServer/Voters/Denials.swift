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

    /// Those that belong to no connection.
    private let standing: [VoterIdentity: any ShownVoter]
    /// This host's name, if others share the machine.
    private let host: String?

    /// Lists those whose votes decided, then the others that deny the same at once, by number.
    init(
        _ deciding: [Vote.Denial],
        and blocking: [any ShownVoter],
        of motion: Motion?,
        at host: String?
    ) {
        self.host = host
        let known = Set(deciding.prefix(Self.limit).compactMap(\.identity))
        let others = blocking.lazy.filter { !known.contains($0.identity) }
            .compactMap { voter in
                motion.flatMap { voter.denial(of: $0) }.map { (voter.number, $0) }
            }
            .sorted { $0.0 < $1.0 }
        let standing = blocking.filter { $0.isAway || $0.name != nil }
        self.standing = Dictionary(standing.map { ($0.identity, $0) }) { first, _ in first }
        let total = deciding.count + others.count
        let left = max(Self.limit - deciding.count, 0)
        self.named = deciding.prefix(Self.limit) + others.prefix(left).map(\.1)
        self.more = total - self.named.count
    }

    /// The denials in words, for people.
    var message: String {
        if self.named.areOfLinks { return self.named.lacks }
        let reasons = self.named.map { $0.why.isEmpty ? $0.label : "\($0.label) (\($0.why))" }
        let rest = self.more > 0 ? " and \(self.more) more" : ""
        return "denied by \(reasons.joined(separator: ", "))\(rest)"
    }

    /// Writes the denials into the refusal.
    func write(to writer: inout LineWriter, ownPeer: Peer) {
        writer.objects("by", self.named) { self.write($1, to: &$0, ownPeer: ownPeer) }
        if self.more > 0 { writer.number("more", self.more) }
    }

    /// Writes a denial as it stands in `denied.by`.
    private func write(_ denial: Vote.Denial, to writer: inout LineWriter, ownPeer: Peer) {
        switch denial.claim {
        case .hold(let number): writer.number(.hold, number)
        case .guard(let number): writer.number(.guard, number)
        case .link(let name):
            writer.string(.link, name)
            writer.string("why", denial.why)
            return
        case nil: writer.string("delegate", denial.label)
        }
        if let host = denial.host ?? self.host { writer.string(.host, host) }
        let peer = denial.peer ?? ownPeer
        writer.number("uid", peer.uid)
        writer.number("pid", peer.pid)
        writer.program(of: peer)
        writer.string("why", denial.why)
        guard let voter = denial.identity.flatMap({ self.standing[$0] }) else { return }
        if case .missing(let since) = voter.terms {
            writer.string(.required, voter.name ?? "?")
            writer.time(.missing, since)
        } else if let name = voter.name {
            writer.string(.named, name)
        }
        if voter.isAway { writer.bool(.away, true) }
    }
}

extension Vote.Denial {
    /// Whose it is; nil if it is no client's.
    fileprivate var identity: VoterIdentity? {
        self.claim.map { VoterIdentity($0, at: self.host) }
    }
}
