/// A request of a client.
///
/// It is not evaluated here: the daemon does that, and answers what would have been right.
public struct Request: Hashable, Sendable {
    /// Its id, which comes back on every line that the request causes.
    public let id: RequestID?
    package let call: Call

    /// The operations with their arguments; those of many are objects of their own.
    package enum Call: Hashable, Sendable {
        case get(GetCall)
        case set(SetCall)
        case send(SendCall)
        case update(UpdateCall)
        indirect case watch(WatchCall)
        case unwatch
        indirect case wait(WaitCall)
        indirect case hold(HoldCall)
        case release(ReleaseCall)
        indirect case `guard`(GuardCall)
        case vote(VoteCall)
        indirect case history(HistoryCall)
        case reload
        case describe
        case stats
        case hosts
        case ping
        case help
    }

    package init(id: RequestID? = nil, _ call: Call) {
        self.id = id
        self.call = call
    }

    /// The same request, whose lines will carry `id`.
    public func called(_ id: RequestID) -> Request { Request(id: id, self.call) }

    package var operation: Operation { self.call.operation }

    /// The request as an object.
    package var object: JSONValue {
        let operation = self.operation
        var members = [JSONMember(RequestKey.op.rawValue, .string(operation.rawValue))]
        switch self.call {
        case .unwatch, .reload, .describe, .stats, .hosts, .ping, .help: break
        case .get(let call): members += call.written(for: operation)
        case .set(let call): members += call.written(for: operation)
        case .send(let call): members += call.written(for: operation)
        case .update(let call): members += call.written(for: operation)
        case .watch(let call): members += call.written(for: operation)
        case .wait(let call): members += call.written(for: operation)
        case .hold(let call): members += call.written(for: operation)
        case .release(let call): members += call.written(for: operation)
        case .guard(let call): members += call.written(for: operation)
        case .vote(let call): members += call.written(for: operation)
        case .history(let call): members += call.written(for: operation)
        }
        if let id = self.id { members.append(JSONMember(RequestKey.id.rawValue, id.json)) }
        return .object(members)
    }

    /// The request as a line, with its newline.
    public var line: [UInt8] { Array("\(self.object)\n".utf8) }
}

extension Request.Call {
    /// What it asks for of what a machine's file may restrict to some users; nil: that is anybody's.
    package func act(in present: String) -> RestrictedAct? {
        switch self {
        case .set(let call): call.act(in: present)
        case .send(let call): call.act(in: present)
        case .update(let call): call.act(in: present)
        case .hold, .guard: .vote
        case .get, .watch, .unwatch, .wait, .release, .vote, .history, .reload, .describe, .stats,
            .hosts, .ping, .help:
            nil
        }
    }

    package var operation: Operation {
        switch self {
        case .get: .get
        case .set: .set
        case .send: .send
        case .update: .update
        case .watch: .watch
        case .unwatch: .unwatch
        case .wait: .wait
        case .hold: .hold
        case .release: .release
        case .guard: .guard
        case .vote: .vote
        case .history: .history
        case .reload: .reload
        case .describe: .describe
        case .stats: .stats
        case .hosts: .hosts
        case .ping: .ping
        case .help: .help
        }
    }
}

/// A line that is not a valid request, and what to answer.
package struct RefusedRequest: Error, Hashable, Sendable {
    /// The request's own id, where it could be read.
    package let id: RequestID?
    package let error: WireError
}
