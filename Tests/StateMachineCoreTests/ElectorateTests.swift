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

    private func addVoter(at buckets: Set<Int>?) -> Registration {
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
        let registrations = (0..<500).map { self.addVoter(at: ["other \($0)".hashValue]) }
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
        let registration = self.addVoter(at: ["dataRetrieval".hashValue])
        registration.move(to: ["authentication".hashValue])
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
        registration.move(to: ["ready".hashValue])
        try self.machine.proposeAtOnce(.ready(true))
        #expect(self.looked.heard.count == 2)
    }
}

extension AppState {
    fileprivate var text: String { TypedValue(self).text }
}
