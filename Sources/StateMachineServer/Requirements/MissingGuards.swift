import StateMachineCore
import StateMachineProtocol

/// What denies in the place of required guards that are not connected: voters that are made of the guards' requests, as
/// the states are declared now.
///
/// Owns what declares the states next. Belongs to the event loop.
struct MissingGuards {
    private let machine: any ServedMachine
    /// What declares the states next, perhaps.
    private var next: StateSchema?

    /// - Parameter machine: where they are voters.
    init(in machine: any ServedMachine) {
        self.machine = machine
    }

    /// The states are about to be declared anew; with nil they are, or are not after all.
    mutating func expect(_ next: StateSchema?) { self.next = next }

    /// Whether a guard's request can still be read; if not, all states are denied in its place.
    func isReadable(_ request: [UInt8]) -> Bool { self.calls(in: request) != nil }

    /// A request under the names of the declaration that is in force: the next may not know those of before.
    func followed(_ request: [UInt8]) -> [UInt8] {
        guard let (asked, now) = self.calls(in: request) else { return request }
        var present = now
        let isSame = zip(asked.before.patterns, present.before.patterns).allSatisfy { old, new in
            old.name == new.name
        }
        guard !isSame else { return request }
        present.before = PatternList(present.before.patterns.map(\.rewritten))
        return Array(Request(.guard(present)).line.dropLast())
    }

    /// Puts what denies in a guard's place among the voters; before all states that there are, if its request cannot be
    /// read any more.
    func begin(
        _ requirement: Requirement,
        since: WallTime,
        _ number: UInt64
    ) -> SocketVoter {
        let call = self.calls(in: requirement.request)?.present
        let voter = SocketVoter(
            number: number,
            requestID: nil,
            peer: requirement.peer,
            why: call?.why,
            before: call?.before
                ?? PatternList(self.machine.schema.names.map { Pattern(typed: $0) }),
            terms: .missing(since: since),
            required: requirement.name,
            since: requirement.since,
            request: requirement.request
        )
        if let next = self.next { voter.patterns.expect(next) }
        let why = voter.blockingWhy
        voter.begin(
            self.machine.addVoter(
                voter.name,
                peer: voter.peer,
                deadline: VoteDeadline(limit: nil, whenSilent: .yes),
                before: voter.patterns,
                { _ = $0.vote(.no(why)) }
            )
        )
        return voter
    }

    /// What a request asked for, and what that is as the states are declared now; nil if it cannot be read any more.
    private func calls(in request: [UInt8]) -> (asked: GuardCall, present: GuardCall)? {
        guard let read = Request(again: request), case .guard(let asked) = read.call,
            case .guard(let present) = self.machine.schema.resolvedAgain(read.call)
        else { return nil }
        return (asked, present)
    }
}
