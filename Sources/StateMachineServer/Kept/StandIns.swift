import StateMachineCore
import StateMachineProtocol

/// Makes voters that belong to no connection: in place of holds and guards whose clients are not
/// here, and for holds of a name.
///
/// They are made from the requests, as the states are declared now.
///
/// Owns the next declaration. Belongs to the event loop.
struct StandIns {
    private let machine: ServedMachine
    /// The declaration that may come into force next.
    private var next: StateSchema?

    /// - Parameter machine: where they vote.
    init(in machine: ServedMachine) {
        self.machine = machine
    }

    /// Notes a declaration that is about to come into force; nil once it has, or will not.
    mutating func expect(_ next: StateSchema?) { self.next = next }

    /// Whether a request can still be read; if not, all states are denied in its place.
    func isReadable(_ request: [UInt8]) -> Bool { self.reading(of: request) != nil }

    /// A request under the names of the declaration in force: the next may not know the old ones.
    func followed(_ request: [UInt8]) -> [UInt8] {
        guard let read = self.reading(of: request) else { return request }
        let isSame = zip(read.asked.before.patterns, read.present.before.patterns)
            .allSatisfy { $0.name == $1.name }
        guard !isSame else { return request }
        let before = PatternList(read.present.before.patterns.map(\.rewritten))
        return Array(Request(read.present.call(before)).line.dropLast())
    }

    /// Registers a voter for a hold or a guard.
    ///
    /// It denies all states if the request can no longer be read.
    func begin(_ kept: KeptVoter) -> SocketVoter {
        let read = self.reading(of: kept.request)?.present
        var terms = read?.terms ?? .block
        var (isAway, until) = (false, nil as WallTime?)
        switch kept.term {
        case .connection: isAway = true
        case .required: terms = .missing(since: kept.missing ?? .now)
        case .named(_, let end): until = end
        }
        let voter = SocketVoter(
            number: kept.number,
            requestID: nil,
            peer: kept.peer,
            why: read?.why,
            before: read?.before
                ?? PatternList(self.machine.schema.names.map { Pattern(typed: $0) }),
            terms: terms,
            name: kept.name,
            until: until,
            since: kept.since,
            request: kept.request
        )
        voter.isAway = isAway
        if let next = self.next { voter.patterns.expect(next) }
        voter.begin(in: self.machine)
        return voter
    }

    /// What a request for a hold or a guard says.
    private struct Reading {
        let call: (PatternList) -> Request.Call
        let before: PatternList
        let why: String?
        let terms: VoterTerms

        init?(_ call: Request.Call) {
            switch call {
            case .hold(let call):
                self.call = { before in
                    var call = call
                    call.before = before
                    return .hold(call)
                }
                (self.before, self.why, self.terms) = (call.before, call.why, VoterTerms(call))
            case .guard(let call):
                self.call = { before in
                    var call = call
                    call.before = before
                    return .guard(call)
                }
                (self.before, self.why, self.terms) = (call.before, call.why, VoterTerms(call))
            default: return nil
            }
        }
    }

    /// A request as it was made, and as it is resolved now; nil if it can no longer be read.
    private func reading(of request: [UInt8]) -> (asked: Reading, present: Reading)? {
        guard let read = Request(again: request), let asked = Reading(read.call),
            let present = Reading(self.machine.schema.resolvedAgain(read.call))
        else { return nil }
        return (asked, present)
    }
}
