#if Cluster
import StateMachineProtocol

/// The keys by which hosts ask each other's guards; who goes by the machine's other keys passes over them.
extension SharedKeys {
    enum Exchanged: Hashable {
        /// That host's open question.
        case ask(String)
        /// An answer to a host's question.
        case vote(host: String, ask: UInt64, Voter)
    }

    var asks: KeyRange { KeyRange(prefix: "\(self.prefix)asks/") }

    func ask(of host: String) -> String { "\(self.prefix)asks/\(host)" }

    /// All answers to questions of that host.
    func votes(for host: String) -> KeyRange { KeyRange(prefix: "\(self.prefix)votes/\(host)/") }

    func vote(for host: String, _ ask: UInt64, by voter: Voter) -> String {
        "\(self.prefix)votes/\(host)/\(ask)/\(voter.host)/\(voter.number)"
    }

    /// What a key is about in the exchange; nil: nothing.
    func exchanged(_ key: [UInt8]) -> Exchanged? {
        guard key.starts(with: self.prefix.utf8), let text = String(validating: key, as: UTF8.self)
        else { return nil }
        let words = text.dropFirst(self.prefix.count)
            .split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        switch (words.first, words.count) {
        case ("asks", 2): return .ask(words[1])
        case ("votes", 5):
            guard let ask = UInt64(words[2]), let number = UInt64(words[4]) else { return nil }
            return .vote(host: words[1], ask: ask, Voter(words[3], number))
        default: return nil
        }
    }

    /// Reads all questions, and the answers to this host's.
    func exchange(of host: String) -> TransactionRequest {
        TransactionRequest(
            if: [],
            then: [.range(RangeRequest(self.asks)), .range(RangeRequest(self.votes(for: host)))]
        )
    }

    /// Has that be the host's question, without answers to another; nil: it has none.
    func put(_ ask: SharedAsk?, of host: String, lease: Int64) -> TransactionRequest {
        let key = self.ask(of: host)
        return TransactionRequest(
            if: [],
            then: [
                ask.map { .put(PutRequest(key, $0.bytes, lease: lease)) }
                    ?? .delete(DeleteRequest(KeyRange(key))),
                .delete(DeleteRequest(self.votes(for: host))),
            ]
        )
    }

    /// Asks more guards the host's question.
    func extend(_ ask: SharedAsk, of host: String, lease: Int64) -> TransactionRequest {
        TransactionRequest(
            if: [],
            then: [.put(PutRequest(self.ask(of: host), ask.bytes, lease: lease))]
        )
    }

    /// Answers a host's question, if it has one.
    func put(
        _ vote: SharedVote,
        for host: String,
        _ ask: UInt64,
        by voter: Voter,
        lease: Int64
    ) -> TransactionRequest {
        TransactionRequest(
            if: [Comparison(KeyRange(self.ask(of: host)), .greater, .version(0))],
            then: [
                .put(PutRequest(self.vote(for: host, ask, by: voter), vote.bytes, lease: lease))
            ]
        )
    }
}
#endif
