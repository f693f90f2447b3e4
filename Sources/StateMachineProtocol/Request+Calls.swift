// What each operation makes of its keys.

extension SetCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            state: try keys.needed("state", "set", keys.string("state")),
            data: keys["data"],
            ifSeq: try keys.count("ifSeq"),
            ifState: try keys.pattern("ifState"),
            reenter: try keys.bool("reenter") ?? false,
            cause: try keys.text("cause")
        )
    }
}

extension WatchCall {
    init(_ keys: RequestKeys) throws(WireError) {
        let mode = try keys.choice("mode", of: WatchMode.allCases.map(\.rawValue))
        let beatMs = try keys.count("beatMs")
        guard beatMs != 0 else {
            throw WireError(.badRequest, "beatMs must be at least 1; leave it out for no beats")
        }
        self.init(
            since: try keys.string("since"),
            only: try keys.patterns("only"),
            mode: mode.flatMap(WatchMode.init) ?? .all,
            everyMs: try keys.count("everyMs") ?? 0,
            beatMs: beatMs
        )
    }
}

extension WaitCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            until: try keys.needed("until", "wait", keys.patterns("until")),
            fail: try keys.patterns("fail") ?? [],
            since: try keys.string("since"),
            timeoutMs: try keys.count("timeoutMs")
        )
    }
}

extension HoldCall {
    init(_ keys: RequestKeys) throws(WireError) {
        let maxMs = try keys.count("maxMs", atMost: RequestLimits.voteMs)
        let mode: Mode
        switch try keys.choice("mode", of: ["block", "delay"]) {
        case "delay": mode = .delay(maxMs: maxMs ?? RequestLimits.defaultVoteMs)
        default:
            guard maxMs == nil else {
                throw WireError(.badRequest, "maxMs is for the mode \"delay\" only")
            }
            mode = .block
        }
        self.init(
            before: try keys.needed("before", "hold", keys.patterns("before")),
            mode: mode,
            why: try keys.text("why")
        )
    }
}

extension GuardCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            before: try keys.needed("before", "guard", keys.patterns("before")),
            timeoutMs: try keys.count("timeoutMs", atMost: RequestLimits.voteMs)
                ?? RequestLimits.defaultVoteMs,
            allowsOnTimeout: try keys.choice("onTimeout", of: ["allow", "deny"]) != "deny",
            why: try keys.text("why")
        )
    }
}

extension VoteCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            ask: try keys.needed("ask", "vote", keys.count("ask")),
            allow: try keys.needed("allow", "vote", keys.bool("allow")),
            why: try keys.text("why")
        )
    }
}

extension HistoryCall {
    init(_ keys: RequestKeys) throws(WireError) {
        self.init(
            since: try keys.string("since"),
            limit: try keys.count("limit", atMost: RequestLimits.historyChanges)
                ?? RequestLimits.defaultHistoryChanges,
            only: try keys.patterns("only")
        )
    }
}
