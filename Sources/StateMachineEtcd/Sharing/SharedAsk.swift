#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What a host asks guards of other hosts before the machine changes.
struct SharedAsk: SharedValue {
    /// No other question of any host ever has it.
    let id: UInt64
    /// Where the machine is.
    let seq: UInt64
    let current: SharedChange
    /// Where it would go; its time and stay say nothing.
    let proposed: SharedChange
    let beginsStay: Bool
    /// Who is asked.
    var guards: [Guard]

    struct Guard: SharedValue {
        let voter: SharedKeys.Voter

        init(_ voter: SharedKeys.Voter) { self.voter = voter }

        init(_ members: SharedMembers) throws(Malformed) {
            self.voter = SharedKeys.Voter(
                try members.text("host"),
                try members.number("number")
            )
        }

        var members: [JSONMember] {
            [
                JSONMember("host", .string(self.voter.host)),
                JSONMember("number", .integer(self.voter.number)),
            ]
        }
    }

    init(
        _ id: UInt64,
        seq: UInt64,
        from current: SharedChange,
        to proposed: SharedChange,
        beginsStay: Bool
    ) {
        (self.id, self.seq, self.current, self.proposed) = (id, seq, current, proposed)
        (self.beginsStay, self.guards) = (beginsStay, [])
    }

    init(_ members: SharedMembers) throws(Malformed) {
        self.id = try members.number("id")
        self.seq = try members.number("seq")
        self.current = try SharedChange(try members.nested("current"))
        self.proposed = try SharedChange(try members.nested("proposed"))
        self.beginsStay = try members.flag("beginsStay")
        self.guards = try members.elements("guards")
    }

    var members: [JSONMember] {
        [
            JSONMember("id", .integer(self.id)), JSONMember("seq", .integer(self.seq)),
            JSONMember("current", .object(self.current.members)),
            JSONMember("proposed", .object(self.proposed.members)),
            JSONMember("beginsStay", .bool(self.beginsStay)),
            JSONMember("guards", .array(self.guards.map { .object($0.members) })),
        ]
    }
}

/// What a guard of another host has answered.
struct SharedVote: SharedValue {
    let vote: Vote

    init(_ vote: Vote) { self.vote = vote }

    init(_ members: SharedMembers) throws(Malformed) {
        let why = try members.optional("why") { (members) throws(Malformed) in
            try members.text("why")
        }
        self.vote = try members.flag("allow") ? .yes : .no(why ?? "")
    }

    var members: [JSONMember] {
        switch self.vote {
        case .yes, .abstain: [JSONMember("allow", true)]
        case .no(let why): [JSONMember("allow", false), JSONMember("why", .string(why))]
        }
    }
}
#endif
