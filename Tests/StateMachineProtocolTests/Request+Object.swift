import StateMachineProtocol

extension Request {
    /// The request as an object with every key that was given, which is the longest way to write it.
    var object: JSONValue {
        var members = [JSONMember("op", .string(self.operation.rawValue))]
        func add(_ key: String, _ value: JSONValue?) {
            if let value { members.append(JSONMember(key, value)) }
        }
        switch self.id {
        case nil: break
        case .integer(let integer): add("id", .number("\(integer)"))
        case .string(let string): add("id", .string(string))
        }
        switch self.call {
        case .get, .unwatch, .describe, .stats, .ping, .help: break
        case .set(let call):
            add("state", .string(call.state))
            add("data", call.data)
            add("ifSeq", call.ifSeq.map { .number("\($0)") })
            add("ifState", call.ifState?.written)
            add("reenter", call.reenter ? .bool(true) : nil)
            add("cause", call.cause.map { .string($0) })
        case .watch(let call):
            add("since", call.since.map { .string($0) })
            add("only", call.only.map { .array($0.map(\.written)) })
            add("mode", call.mode == .all ? nil : .string(call.mode.rawValue))
            add("everyMs", call.everyMs == 0 ? nil : .number("\(call.everyMs)"))
            add("beatMs", call.beatMs.map { .number("\($0)") })
        case .wait(let call):
            add("until", .array(call.until.map(\.written)))
            add("fail", call.fail.isEmpty ? nil : .array(call.fail.map(\.written)))
            add("since", call.since.map { .string($0) })
            add("timeoutMs", call.timeoutMs.map { .number("\($0)") })
        case .hold(let call):
            add("before", .array(call.before.map(\.written)))
            if case .delay(let maxMs) = call.mode {
                add("mode", .string("delay"))
                add("maxMs", .number("\(maxMs)"))
            }
            add("why", call.why.map { .string($0) })
        case .release(let number):
            add("hold", .number("\(number)"))
        case .guard(let call):
            add("before", .array(call.before.map(\.written)))
            add("timeoutMs", .number("\(call.timeoutMs)"))
            add("onTimeout", .string(call.allowsOnTimeout ? "allow" : "deny"))
            add("why", call.why.map { .string($0) })
        case .vote(let call):
            add("ask", .number("\(call.ask)"))
            add("allow", .bool(call.allow))
            add("why", call.why.map { .string($0) })
        case .history(let call):
            add("since", call.since.map { .string($0) })
            add("limit", .number("\(call.limit)"))
            add("only", call.only.map { .array($0.map(\.written)) })
        }
        return .object(members)
    }
}
