extension Request {
    /// Reads a request line, without its newline; nil if it is blank.
    ///
    /// A line that begins with `{` is a JSON object, any other is bare words typed by hand.
    package static func parse(_ line: [UInt8]) throws(RefusedRequest) -> Request? {
        try line.withUnsafeBufferPointer { (line) throws(RefusedRequest) in try self.parse(line) }
    }

    /// The same of a line in somebody else's memory.
    package static func parse(
        _ line: UnsafeBufferPointer<UInt8>
    ) throws(RefusedRequest) -> Request? {
        guard let first = line.first(where: { !$0.isWhiteSpace }) else { return nil }
        if first == UInt8(ascii: "{") { return try Request(object: line) }
        guard let text = String(validating: line, as: UTF8.self) else {
            let offset = line.validUTF8PrefixCount
            throw RefusedRequest(
                id: nil,
                error: WireError(.badJSON, "not UTF-8 at byte \(offset)", offset: offset)
            )
        }
        do {
            return Request(try Call(words: try self.words(of: text)))
        } catch {
            throw RefusedRequest(id: nil, error: error)
        }
    }

    private static func words(of text: String) throws(WireError) -> [String] {
        // By bytes: a space stays one even if the next scalar combines with it.
        let words = text.utf8.split(maxSplits: RequestLimits.words, whereSeparator: \.isWhiteSpace)
        guard words.count <= RequestLimits.words else {
            throw WireError(
                .limit,
                "there are more than \(RequestLimits.words) words in the line; send an object"
            )
        }
        return words.map { String(Substring($0)) }
    }

    private init(object line: UnsafeBufferPointer<UInt8>) throws(RefusedRequest) {
        let keys: RequestKeys
        do {
            let limit = RequestLimits.values
            let (text, places) = try JSONReading.read(line, valueLimit: limit, isRequest: true)
            keys = RequestKeys(text, at: places)
        } catch {
            throw RefusedRequest(
                id: nil,
                error: WireError(
                    .badJSON,
                    "\(error.message) at byte \(error.offset)",
                    offset: error.offset
                )
            )
        }
        let id: RequestID?
        do {
            id = try keys.id
        } catch {
            throw RefusedRequest(id: nil, error: error)
        }
        if let key = keys.text.doubledKey {
            throw RefusedRequest(
                id: id,
                error: WireError(.badRequest, "the key \(key.quoted) is given twice in one object")
            )
        }
        do {
            self.init(id: id, try Call(keys: keys))
        } catch {
            throw RefusedRequest(id: id, error: error)
        }
    }
}

extension WireError {
    /// The refusal of an operation that there is not.
    static func unknownOperation(_ name: String) -> WireError {
        let known = Operation.allCases.map(\.rawValue)
        return WireError(
            .unknownOperation,
            "there is no operation \(name.quoted); known: \(known.joined(separator: ", "))",
            known: known
        )
    }
}

extension Request.Call {
    fileprivate init(keys: borrowing RequestKeys) throws(WireError) {
        let operation = try keys.operation
        switch operation {
        case .get: self = .get(try keys.arguments(of: operation))
        case .unwatch: self = try keys.call(.unwatch, of: operation)
        case .reload: self = try keys.call(.reload, of: operation)
        case .describe: self = try keys.call(.describe, of: operation)
        case .stats: self = try keys.call(.stats, of: operation)
        case .hosts: self = try keys.call(.hosts, of: operation)
        case .ping: self = try keys.call(.ping, of: operation)
        case .help: self = try keys.call(.help, of: operation)
        case .set: self = .set(try keys.arguments(of: operation))
        case .send: self = .send(try keys.arguments(of: operation))
        case .update: self = .update(try keys.arguments(of: operation))
        case .watch: self = .watch(try keys.arguments(of: operation))
        case .wait: self = .wait(try keys.arguments(of: operation))
        case .hold: self = .hold(try keys.arguments(of: operation))
        case .release: self = .release(try keys.arguments(of: operation))
        case .guard: self = .guard(try keys.arguments(of: operation))
        case .vote: self = .vote(try keys.arguments(of: operation))
        case .history: self = .history(try keys.arguments(of: operation))
        }
    }

    fileprivate init(words: [String]) throws(WireError) {
        guard let operation = ShortWord(words[0]).flatMap({ Operation.table[$0] }) else {
            throw .unknownOperation(words[0])
        }
        var rest = Array(words.dropFirst())
        switch operation {
        case .get: self = .get(GetCall())
        case .unwatch: self = .unwatch
        case .reload: self = .reload
        case .describe: self = .describe
        case .stats: self = .stats
        case .hosts: self = .hosts
        case .ping: self = .ping
        case .help: self = .help
        case .history:
            self = .history(HistoryCall(limit: RequestLimits.defaultHistoryChanges))
        case .hold, .guard, .vote:
            throw WireError(
                .badRequest,
                "\(operation.rawValue) cannot be written in bare words; send an object: "
                    + #"{"op":"\#(operation.rawValue)",…}"#
            )
        case .release:
            guard let hold = rest.first, let number = UInt64(hold),
                number < RequestLimits.integerBound
            else {
                throw WireError(
                    .badRequest,
                    "release needs the number of a hold or guard: release N"
                )
            }
            self = .release(ReleaseCall(number: number))
            rest.removeFirst()
        case .set:
            let (state, fields) = try rest.named(
                for: operation,
                orElse: "set needs a state: set STATE [key=value …]"
            )
            self = .set(SetCall(state, ChangeTerms(data: fields.data, words: fields.words)))
            return
        case .send:
            let (event, fields) = try rest.named(
                for: operation,
                orElse: "send needs an event: send EVENT [key=value …]"
            )
            self = .send(SendCall(event, ChangeTerms(data: fields.data, words: fields.words)))
            return
        case .update:
            guard !rest.isEmpty else {
                throw WireError(.badRequest, "update needs a field: update key=value …")
            }
            let fields = try FieldWords(rest, in: operation.rawValue, for: .update)
            let terms = ChangeTerms(data: fields.data, words: fields.words)
            self = .update(UpdateCall(adding: fields.amounts, terms))
            return
        case .watch:
            let patterns = try PatternList(words: rest)
            var call = WatchCall()
            call.only = patterns.isEmpty ? nil : patterns
            self = .watch(call)
            return
        case .wait:
            guard !rest.isEmpty else {
                throw WireError(.badRequest, "wait needs a pattern: wait STATE[:key=value,…] …")
            }
            self = .wait(WaitCall(until: try PatternList(words: rest)))
            return
        }
        if let surplus = rest.first {
            throw WireError(
                .badRequest,
                "\(operation.rawValue) takes no more words, but \(surplus.quoted) was given"
            )
        }
    }
}

extension [String] {
    /// A name, and the fields after it.
    fileprivate func named(
        for operation: Operation,
        orElse objection: String
    ) throws(WireError) -> (name: String, fields: FieldWords) {
        guard let name = self.first else { throw WireError(.badRequest, objection) }
        return (name, try FieldWords(Array(self.dropFirst()), in: operation.rawValue))
    }
}

extension FieldWords {
    /// The values that are explicitly JSON; nil if there are none.
    fileprivate var data: JSONValue? { self.values.isEmpty ? nil : .object(self.values) }
}

extension PatternList {
    fileprivate init(words: [String]) throws(WireError) {
        try Pattern.check(count: words.count, in: "the line")
        self.init(try words.map { (word) throws(WireError) in try Pattern(text: word) })
    }
}

extension UInt8 {
    /// What separates words: space, and tab to carriage return.
    fileprivate var isWhiteSpace: Bool { self == 0x20 || (self >= 0x09 && self <= 0x0D) }
}
