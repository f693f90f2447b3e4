/// Transitions that the client wants to be asked about.
package struct GuardCall: Hashable, Sendable {
    /// The states before which it is asked.
    package var before: PatternList
    /// How long to wait for it, in milliseconds; nil leaves that to the daemon.
    package var timeoutMs: UInt64?
    /// What its silence counts as; nil leaves it to the daemon.
    package var onTimeout: Request.Silence?
    package var why: String?
    /// Its name if it is required: while no guard of that name is connected, what it guards is
    /// denied.
    package var required: String?

    /// How long the daemon waits for it.
    package var deadlineMs: UInt64 { self.timeoutMs ?? RequestLimits.defaultVoteMs }

    package var allowsOnTimeout: Bool { self.onTimeout != .deny }
}

extension GuardCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            before: try keys.needed(.before, .guard, keys.patterns(.before)),
            timeoutMs: try keys.count(.timeoutMs, atMost: RequestLimits.voteMs)
                ?? RequestLimits.defaultVoteMs,
            onTimeout: try keys.choice(.onTimeout, of: Request.Silence.self) ?? .allow,
            why: try keys.text(.why),
            required: try keys.requirement(.required)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.before, self.before)
        members.add(.timeoutMs, self.timeoutMs)
        members.add(.onTimeout, self.onTimeout?.rawValue)
        members.add(.why, self.why)
        members.add(.required, self.required)
    }
}

/// A hold or a guard to be given back.
package enum ReleaseCall: Hashable, Sendable {
    /// The one of that number.
    case number(UInt64)
    /// The required guard of that name, connected or not.
    case required(String)
    /// The hold of that name.
    case named(String)
}

extension ReleaseCall {
    init(_ keys: RequestKeys) throws(WireError) {
        let given = [RequestKey.hold, .required, .name].filter { keys[$0] != nil }
        guard given.count < 2 else {
            let words = given.map(\.rawValue.quoted).joined(separator: " or ")
            throw WireError(.badRequest, "release takes \(words), not both")
        }
        if let name = try keys.requirement(.required) {
            self = .required(name)
        } else if let name = try keys.requirement(.name) {
            self = .named(name)
        } else {
            self = .number(try keys.needed(.hold, .release, keys.count(.hold)))
        }
    }

    func write(to members: inout RequestMembers) {
        switch self {
        case .number(let number): members.add(.hold, number)
        case .required(let name): members.add(.required, name)
        case .named(let name): members.add(.name, name)
        }
    }
}

/// An answer to an `ask`.
package struct VoteCall: Hashable, Sendable {
    package var ask: UInt64
    package var allow: Bool
    package var why: String?
}

extension VoteCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            ask: try keys.needed(.ask, .vote, keys.count(.ask)),
            allow: try keys.needed(.allow, .vote, keys.bool(.allow)),
            why: try keys.text(.why)
        )
    }

    func write(to members: inout RequestMembers) {
        members.add(.ask, self.ask)
        members.add(.allow, .bool(self.allow))
        members.add(.why, self.why)
    }
}
