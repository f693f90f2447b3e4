import StateMachineCore
import StateMachineProtocol

/// Makes voters that deny in place of required guards that are not connected.
///
/// They are made from the guards' requests, as the states are declared now.
///
/// Owns the next declaration. Belongs to the event loop.
struct MissingGuards {
    private let machine: any ServedMachine
    /// The declaration that may come into force next.
    private var next: StateSchema?

    /// - Parameter machine: where they vote.
    init(in machine: any ServedMachine) {
        self.machine = machine
    }

    /// Notes a declaration that is about to come into force; nil once it has, or will not.
    mutating func expect(_ next: StateSchema?) { self.next = next }

    /// Whether a guard's request can still be read; if not, all states are denied in its place.
    func isReadable(_ request: [UInt8]) -> Bool { self.calls(in: request) != nil }

    /// A request under the names of the declaration in force: the next may not know the old ones.
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

    /// Registers a voter that denies in a guard's place.
    ///
    /// It denies all states if the guard's request can no longer be read.
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

    /// A request as it was made, and as it is resolved now; nil if it can no longer be read.
    private func calls(in request: [UInt8]) -> (asked: GuardCall, present: GuardCall)? {
        guard let read = Request(again: request), case .guard(let asked) = read.call,
            case .guard(let present) = self.machine.schema.resolvedAgain(read.call)
        else { return nil }
        return (asked, present)
    }
}
