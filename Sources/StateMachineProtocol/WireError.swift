/// Why a request was refused, as a short word that does not change.
package enum ErrorCode: String, CaseIterable, Sendable {
    /// The line is not JSON; `offset` says where.
    case badJSON = "bad-json"
    /// An unknown, missing or doubled key, a value of the wrong type, an empty list of patterns.
    case badRequest = "bad-request"
    /// There is no such operation.
    case unknownOperation = "unknown-op"
    /// There is no such state.
    case unknownState = "unknown-state"
    /// There is no such event.
    case unknownEvent = "unknown-event"
    /// The state's `data` is missing or does not fit it.
    case badData = "bad-data"
    /// The state may not follow the current one.
    case illegalTransition = "illegal-transition"
    /// The machine is not where `ifSeq` or `ifState` expected it.
    case conflict
    /// A guard or a hold said no.
    case denied
    /// This door, or this user, may not do that.
    case forbidden
    /// The time given ran out.
    case timeout
    /// A state was reached that the request counts as failure.
    case failedState = "failed-state"
    /// There is nothing of that name or number.
    case notFound = "not-found"
    /// There are as many as there may be.
    case limit
    /// Longer than it may be.
    case tooLong = "too-long"
    /// The daemon is going down.
    case shuttingDown = "shutting-down"
    /// The daemon could not do its work.
    case `internal`
}

/// A refusal: what goes into the reply.
package struct WireError: Error, Hashable, Sendable {
    package let code: ErrorCode
    /// One sentence for people, which quotes what was wrong and says what would be right.
    package let message: String
    /// For ``ErrorCode/badJSON``: the byte in the line, from 0.
    package let offset: Int?
    /// What there is, where something was asked for that there is not: names, or values of a field.
    package let known: [JSONValue]

    package init(
        _ code: ErrorCode,
        _ message: String,
        offset: Int? = nil,
        known: [String] = []
    ) {
        self.code = code
        self.message = message
        self.offset = offset
        self.known = known.map { .string($0) }
    }

    /// A refusal of a value where only some are possible.
    package init(_ code: ErrorCode, _ message: String, values: [JSONValue]) {
        self.code = code
        self.message = message
        self.offset = nil
        self.known = values
    }
}

extension WireError {
    /// The answer to whatever is pending when the daemon goes.
    package static var shuttingDown: WireError {
        WireError(.shuttingDown, "the daemon is going down")
    }
}

extension DecodingError {
    /// What was wrong with the data of a state.
    func sentence(about state: String) -> String {
        switch self {
        case .keyNotFound(let key, _):
            return "\(state) needs \(StateField.name(ofKey: key.stringValue).quoted) in its data"
        case .typeMismatch(_, let context):
            return "\(context.field) of \(state) must be of type \(context.debugDescription)"
        case .valueNotFound(_, let context):
            return "\(context.field) of \(state) lacks a value"
        case .dataCorrupted(let context):
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
        let path = self.codingPath.dropFirst().map { StateField.name(ofKey: $0.stringValue) }
        return path.isEmpty ? "data" : path.joined(separator: ".").excerpt()
    }
}
