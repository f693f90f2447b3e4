/// A refusal: what goes into the reply.
package struct WireError: Error, Hashable, Sendable {
    package let code: ErrorCode
    /// One sentence for people, which quotes what was wrong and says what would be right.
    package let message: String
    /// For ``ErrorCode/badJSON``: the byte in the line, from 0.
    package let offset: Int?
    /// The existing ones, where an unknown one was requested: names, or values of a field.
    package let known: [JSONValue]
    /// For ``ErrorCode/forbidden``: who may, as a machine's file lists them; nil if no file says.
    package let may: [String]?

    package init(
        _ code: ErrorCode,
        _ message: String,
        offset: Int? = nil,
        known: [String] = [],
        values: [JSONValue] = [],
        may: [String]? = nil
    ) {
        self.code = code
        self.message = message
        self.offset = offset
        self.known = known.map { .string($0) } + values
        self.may = may
    }
}

extension WireError {
    /// The answer to whatever is pending when the daemon goes.
    package static var shuttingDown: WireError {
        WireError(.shuttingDown, "the daemon is shutting down")
    }

    /// One state may not be set from another.
    package static func illegalTransition(
        to name: String,
        from current: String,
        allowed: [String]
    ) -> WireError {
        let others =
            allowed.isEmpty
            ? "nothing may be set from \(current)" : "allowed: \(allowed.joined(separator: ", "))"
        return WireError(.illegalTransition, "\(name) may not follow \(current); \(others)")
    }
}

extension DecodingError {
    /// What was wrong with the data of a state.
    func sentence(about state: String) -> String {
        switch self {
        case .keyNotFound(let key, let context):
            let names = (context.codingPath.dropFirst() + [key]).map {
                Field.name(ofKey: $0.stringValue)
            }
            return "\(state) needs \(names.joined(separator: ".").quoted) in its data"
        case .typeMismatch(_, let context):
            return "\(context.field) of \(state) must be of type \(context.debugDescription)"
        case .valueNotFound(_, let context):
            return "\(context.field) of \(state) has no value"
        case .dataCorrupted(let context):
            if let field = context.underlyingError as? UnknownField {
                let known = field.known.map { $0.excerpt() }.joined(separator: ", ")
                return "\(context.field) of \(state) has no field \(field.name.quoted); "
                    + (known.isEmpty ? "it has none" : "known: \(known)")
            }
            return "\(context.field) of \(state) was refused: "
                + context.debugDescription.excerpt(128)
        @unknown default:
            return "data of \(state) was refused"
        }
    }
}

extension DecodingError.Context {
    /// The path below the state's name, as a client spells it.
    fileprivate var field: String {
        let path = self.codingPath.dropFirst().map { Field.name(ofKey: $0.stringValue) }
        return path.isEmpty ? "data" : path.joined(separator: ".").excerpt()
    }
}
