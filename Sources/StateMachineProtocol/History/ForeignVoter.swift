package import StateMachineCore

/// A hold or guard of another host, or one of this host's that outlives its session, as the engine has it.
package struct ForeignVoter: Sendable {
    package let host: String
    package let record: KeptVoter
    /// What was asked for, by the states as they are declared here.
    package let asked: VoterRequest
    /// Why it denies what it denies at once, if it is not what its client said.
    private let objection: String?

    /// - Parameters:
    ///   - record: what its host has recorded.
    ///   - host: that.
    ///   - schema: the states here.
    package init(_ record: KeptVoter, at host: String, in schema: Schema) {
        let asked = VoterRequest(again: record.request, in: schema)
        (self.host, self.record) = (host, record)
        self.asked = asked ?? VoterRequest(denyingAllOf: schema)
        self.objection =
            asked == nil
            ? record.request.isEmpty
                ? "what the engine has of it is damaged; delete its key voters/\(host)/\(record.number)"
                : "its host \(host) has another version or file; upgrade this one" : nil
    }

    package var claim: Vote.Claim { self.asked.terms.claim(self.record.number) }

    /// Whether its time is over at that moment.
    package func isOver(at now: WallTime) -> Bool { self.record.until.map { $0 <= now } ?? false }

    /// The reason that a denial by it gives.
    package var blockingWhy: String { self.objection ?? self.asked.why ?? "held" }

    /// Its denial of what it denies at once.
    package var denial: Vote.Denial {
        Vote.Denial(self.claim, peer: self.record.peer, at: self.host, why: self.blockingWhy)
    }
}
