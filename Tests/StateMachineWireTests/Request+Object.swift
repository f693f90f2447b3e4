import StateMachineWire

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
        case .get, .unwatch, .describe, .ping, .help: break
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
        case .wait(let call):
            add("until", .array(call.until.map(\.written)))
            add("fail", call.fail.isEmpty ? nil : .array(call.fail.map(\.written)))
            add("since", call.since.map { .string($0) })
            add("timeoutMs", call.timeoutMs.map { .number("\($0)") })
        }
        return .object(members)
    }
}
