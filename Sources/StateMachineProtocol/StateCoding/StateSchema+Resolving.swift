extension Request {
    /// The same, with patterns and words interpreted by the types of the machine's fields; see
    /// ``StateSchema/resolved(_:)-(Request.Call)``.
    package func resolved(by schema: StateSchema) throws(WireError) -> Request {
        Request(id: self.id, try schema.resolved(self.call))
    }

    /// The same, for a request that may date from when states and fields had other names.
    package func followed(by schema: StateSchema) throws(WireError) -> Request {
        Request(id: self.id, try schema.followed(self.call))
    }
}

extension StateSchema {
    /// The request, with patterns and words interpreted by the types of the machine's fields.
    ///
    /// The words of an `update` are left alone: which fields they are for is only known at its
    /// turn.
    ///
    /// Old changes may be requested by former names too.
    ///
    /// - Throws: `unknown-state` or `bad-data` for a pattern that no state can ever match.
    package func resolved(_ call: Request.Call) throws(WireError) -> Request.Call {
        if case .history = call { return try self.followed(call) }
        return try self.resolved(
            call,
            read: { (pattern) throws(WireError) in try self.resolved(pattern) }
        )
    }

    /// The same, for a request that may date from when states and fields had other names.
    package func followed(_ call: Request.Call) throws(WireError) -> Request.Call {
        try self.resolved(call, read: { (pattern) throws(WireError) in try self.followed(pattern) })
    }

    private typealias Reading = (Pattern) throws(WireError) -> Pattern

    private func resolved(
        _ call: Request.Call,
        read: Reading
    ) throws(WireError) -> Request.Call {
        switch call {
        case .set(let call):
            // Most have neither.
            guard call.ifState != nil || !call.words.isEmpty else { return .set(call) }
            return .set(
                SetCall(
                    state: call.state,
                    data: try self.data(call.data, words: call.words, ofState: call.state),
                    ifSeq: call.ifSeq,
                    ifState: try call.ifState?.mapped(read),
                    ifStay: call.ifStay,
                    reenter: call.reenter,
                    cause: call.cause
                )
            )
        case .send(var call):
            call.ifState = try call.ifState?.mapped(read)
            call.data = try self.data(call.data, words: call.words, ofEvent: call.event)
            call.words = []
            return .send(call)
        case .update(var call):
            call.ifState = try call.ifState?.mapped(read)
            return .update(call)
        case .watch(var call):
            call.only = try call.only?.mapped(read)
            return .watch(call)
        case .wait(var call):
            call.until = try call.until.mapped(read)
            call.fail = try call.fail.mapped(read)
            return .wait(call)
        case .hold(var call):
            call.before = try call.before.mapped(read)
            return .hold(call)
        case .guard(var call):
            call.before = try call.before.mapped(read)
            return .guard(call)
        case .history(var call):
            call.only = try call.only?.mapped(read)
            return .history(call)
        case .get, .unwatch, .release, .vote, .reload, .describe, .stats, .ping, .help:
            return call
        }
    }

    /// As ``followed(_:)-(Request.Call)``, for a request that was valid before; if it no longer is,
    /// its patterns are left as they were, and match nothing of what is gone.
    package func resolvedAgain(_ call: Request.Call) -> Request.Call {
        do {
            return try self.followed(call)
        } catch {
            return call
        }
    }

    /// The patterns, each valid one as it is now, with the present names.
    package func resolvedAgain(_ list: PatternList) -> PatternList {
        PatternList(
            list.patterns.map { pattern in
                do {
                    return try self.followed(pattern)
                } catch {
                    return pattern
                }
            }
        )
    }

    /// The data for a state of that name, with words interpreted by its fields' types; nil if there
    /// is none.
    package func data(
        _ data: JSONValue?,
        words: [JSONMember],
        ofState name: String
    ) throws(WireError) -> JSONValue? {
        // An unknown state is refused where the state is made.
        guard let found = self.cases.first(where: { $0.name.isSpelled(name) }) else { return data }
        return try self.data(data, words) { (given) throws(WireError) in
            try found.members(of: given)
        }
    }

    private func data(
        _ data: JSONValue?,
        words: [JSONMember],
        ofEvent name: String
    ) throws(WireError) -> JSONValue? {
        guard !words.isEmpty else { return data }
        let isEndOfRun = name.isSpelled(Self.endOfRun.name)
        let found = isEndOfRun ? Self.endOfRun : self.events.first { $0.name.isSpelled(name) }
        guard let event = found else { return data }
        return try self.data(data, words) { (given) throws(WireError) in
            try given.members(typedBy: event.fields, of: event.name)
        }
    }

    private func data(
        _ data: JSONValue?,
        _ words: [JSONMember],
        _ members: (FieldWords) throws(WireError) -> [JSONMember]
    ) throws(WireError) -> JSONValue? {
        // Data that is no object is refused where it is used.
        guard !words.isEmpty, let values = (data ?? .object([])).members else { return data }
        return .object(try members(FieldWords(values: values, words: words)))
    }
}
