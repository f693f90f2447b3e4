import StateMachineCore
import StateMachineProtocol

/// A hold or guard as clients are shown it: one of this host's, or of another that shares the machine.
protocol ShownVoter {
    /// The host that it is of; nil: this one.
    var host: String? { get }
    var number: UInt64 { get }
    /// The name that it is required as, or that it is held as; nil if it has none.
    var name: String? { get }
    var peer: Peer { get }
    var terms: VoterTerms { get }
    var patterns: PatternList { get }
    var why: String? { get }
    /// Since when it has been there.
    var since: WallTime { get }
    /// When a hold of a name ends.
    var until: WallTime? { get }
    /// Whether its client is not here yet: it is of the last run.
    var isAway: Bool { get }
    /// Whether no state of the declaration in force can ever match.
    var isVoid: Bool { get }
    /// Its denial of what it denies at once.
    var denial: Vote.Denial { get }
    /// Whether it has a say in a change.
    func isConcerned(by motion: Motion) -> Bool
    /// Whether it has a say in every new stay in the state of that name, whatever that carries.
    func isConcerned(byAny state: String) -> Bool
}

extension ShownVoter {
    /// Its denial of a change that it denies at once; nil if it allows it, delays it or is asked about it.
    func denial(of motion: Motion) -> Vote.Denial? {
        self.terms.isBlocking && self.isConcerned(by: motion) ? self.denial : nil
    }

    /// Tells it apart from all others.
    var identity: VoterIdentity { VoterIdentity(self.terms.claim(self.number), at: self.host) }
}

/// Tells holds and guards apart: a number is a host's.
struct VoterIdentity: Hashable {
    let claim: Vote.Claim
    let host: String?

    init(_ claim: Vote.Claim, at host: String?) { (self.claim, self.host) = (claim, host) }
}

extension SocketVoter: ShownVoter {
    var host: String? { nil }
    var since: WallTime { self.record.since }
    var until: WallTime? { self.record.until }
}

/// One that the engine has, by the states as they are declared here.
struct OtherHostsVoter: ShownVoter {
    private let voter: ForeignVoter
    private let schema: Schema

    init(_ voter: ForeignVoter, _ schema: Schema) { (self.voter, self.schema) = (voter, schema) }

    var host: String? { self.voter.host }
    var number: UInt64 { self.voter.record.number }
    var name: String? { self.voter.record.name }
    var peer: Peer { self.voter.record.peer }
    var terms: VoterTerms { self.voter.asked.terms }
    var patterns: PatternList { self.voter.asked.before }
    var why: String? { self.voter.asked.why }
    var since: WallTime { self.voter.record.since }
    var until: WallTime? { self.voter.record.until }
    var isAway: Bool { false }
    var isVoid: Bool { self.schema.objection(to: self.patterns) != nil }
    var denial: Vote.Denial { self.voter.denial }

    func isConcerned(by motion: Motion) -> Bool { self.schema.concerns(self.patterns, motion) }

    func isConcerned(byAny state: String) -> Bool { self.patterns.containsAll(of: state) }
}

extension StateServer {
    /// The holds and guards of all hosts, in no order.
    var shownVoters: [any ShownVoter] {
        var shown: [any ShownVoter] = self.voters.present
        shown += self.foreignVoters
        return shown
    }

    /// Those that the engine has and no connection here.
    private var foreignVoters: [any ShownVoter] {
        guard let sharing else { return [] }
        let now = WallTime.now
        return sharing.engine.foreignVoters.filter { !$0.isOver(at: now) }
            .map { OtherHostsVoter($0, self.states) }
    }

    /// The one that the machine has as that; nil if it is no client's.
    func shown(_ voter: Machine.Voter) -> (any ShownVoter)? {
        guard let claim = voter.claim else { return nil }
        guard let host = voter.host else { return claim.number.flatMap { self.voters.voter($0) } }
        return self.foreignVoters.first { $0.identity == VoterIdentity(claim, at: host) }
    }
}
