import TestSupport
import Testing

@testable import StateMachineCore

/// Voters that are found by what is proposed.
@Suite struct ElectorateTests {
    private let machine = StateMachine<AppState>()
    /// The states for which voters were looked at.
    private let looked = Recorder<String>()
    private let asks = Recorder<Ask>()

    init() {
        self.machine.machine.findVoters {
            [$0.proposed.name.hashValue, $0.proposed.text.hashValue]
        }
    }

    private func addVoter(at buckets: Set<Bucket>?) -> Registration {
        self.machine.machine.addVoter(
            Machine.Voter(label: "voter"),
            on: .immediate,
            at: buckets,
            before: { motion in
                self.looked.record(motion.proposed.text)
                return true
            },
            { self.asks.record($0) }
        )
    }

    @Test func whomAProposalDoesNotConcernItCostsNothing() {
        let registrations = (0..<500).map { self.addVoter(at: [Bucket("other \($0)".hashValue)]) }
        for _ in 0..<10 {
            self.machine.propose(.ready(true)) { _ in }
            self.machine.propose(.ready(false)) { _ in }
        }
        #expect(self.machine.snapshot.seq == 20)
        #expect(self.looked.heard.isEmpty)
        for registration in registrations { registration.cancel() }
        #expect(!self.machine.machine.hasVoters)
    }

    /// As when the states are declared again, under other names.
    @Test func aVoterThatMovesIsFoundAtItsNewPlacesAndNoLongerAtTheOldOnes() throws {
        let registration = self.addVoter(at: [Bucket("dataRetrieval".hashValue)])
        registration.move(to: [Bucket("authentication".hashValue)])
        try self.machine.proposeAtOnce(.dataRetrieval(.active))
        #expect(throws: TransitionError(.wouldWait, current: self.machine.snapshot)) {
            try self.machine.proposeAtOnce(.authentication(.idle))
        }
        registration.move(to: nil)
        #expect(throws: TransitionError(.wouldWait, current: self.machine.snapshot)) {
            try self.machine.proposeAtOnce(.ready(true))
        }
        #expect(self.looked.heard.count == 2)
        registration.cancel()
        // It has left, and does not come back.
        registration.move(to: [Bucket("ready".hashValue)])
        try self.machine.proposeAtOnce(.ready(true))
        #expect(self.looked.heard.count == 2)
    }
}

/// Voters that stand at bounds.
@Suite struct BoundTests {
    private static func voter(_ name: String, at buckets: Bucket...) -> VoterMember {
        VoterMember(
            Machine.Voter(label: name),
            at: Set(buckets),
            isAsked: { _ in true },
            body: { _ in }
        )
    }

    /// However many there are, a value looks only at those whose bounds it reaches.
    @Test func boundsThatAreNotReachedCostNothing() {
        var electorate = Electorate()
        let voters = (0..<4000).map {
            Self.voter("\($0)", at: Bucket(on: 1, at: Double(1000 + $0)), Bucket($0))
        }
        for voter in voters { electorate.add(voter) }
        func found(_ line: Int, after: Double = -.infinity, _ end: Double) -> Set<String> {
            let stretch = Stretch(on: line, after: after, upTo: end)
            return Set(electorate.voters(at: [], on: [stretch]).map(\.terms.label))
        }
        #expect(found(1, 999).isEmpty)
        #expect(found(2, 2000).isEmpty)
        #expect(found(1, 1001) == ["0", "1"])
        #expect(found(1, after: 1001, 1001).isEmpty)
        #expect(found(1, after: 1001, 1003) == ["2", "3"])
        #expect(electorate.voters(at: [3], on: []).map(\.terms.label) == ["3"])
        electorate.move(voters[1], to: [Bucket(on: 1, at: 5)])
        electorate.remove(voters[0])
        #expect(found(1, 1001) == ["1"])
        electorate.remove(voters[1])
        #expect(found(1, 1001).isEmpty)
        for voter in voters { electorate.remove(voter) }
        #expect(electorate.isEmpty && found(1, .infinity).isEmpty)
    }

    /// The same as looking at all of them, whoever comes and goes.
    @Test func thoseOnAStretchAreFound() {
        var dice = SeededGenerator(seed: 56)
        var electorate = Electorate()
        var here: [(voter: VoterMember, line: Int, bound: Double)] = []
        for step in 0..<4000 {
            let (line, bound) = (
                Int.random(in: 0..<2, using: &dice),
                Double.random(in: 0..<9, using: &dice).rounded()
            )
            switch Int.random(in: 0..<4, using: &dice) {
            case 0 where !here.isEmpty:
                electorate.remove(here.remove(at: .random(in: 0..<here.count, using: &dice)).voter)
            case 0, 1:
                let voter = Self.voter("\(step)", at: Bucket(on: line, at: bound))
                electorate.add(voter)
                here.append((voter, line, bound))
            default:
                let after = Bool.random(using: &dice) ? -.infinity : bound - 3
                let stretch = Stretch(on: line, after: after, upTo: bound)
                let found = electorate.voters(at: [], on: [stretch])
                let wanted = here.filter {
                    $0.line == line && after < $0.bound && $0.bound <= bound
                }
                #expect(Set(found.map(\.terms.label)) == Set(wanted.map(\.voter.terms.label)))
                #expect(found.count == wanted.count)
                let among = electorate.voters(among: here.map(\.voter), at: [], on: [stretch])
                #expect(among.count == wanted.count)
            }
        }
    }
}

extension AppState {
    fileprivate var text: String { TypedValue(self).text }
}
