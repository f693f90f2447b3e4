/// Why a daemon refused a request, as a short, stable word; later daemons may have others.
public struct ErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// The word.
    public let rawValue: String

    /// The code of that word.
    public init(_ word: String) {
        self.rawValue = word
    }

    /// The word.
    public var description: String { self.rawValue }

    /// All codes of this version but ``ofSharing``, in the order in which `describe` lists them.
    package static let allCases: [ErrorCode] = [
        .badJSON, .badRequest, .unknownOperation, .unknownState, .unknownEvent, .badData,
        .illegalTransition, .conflict, .denied, .refused, .suspended, .forbidden, .timeout,
        .failedState,
        .notFound,
        .limit, .tooLong,
        .shuttingDown, .badFile, .internal,
    ]

    /// The codes that only a machine with events uses.
    package static let ofEvents: [ErrorCode] = [.unknownEvent, .refused, .suspended]

    /// The codes that only a machine uses which several hosts share.
    package static let ofSharing: [ErrorCode] = [.unavailable]

    /// The line is not JSON; `offset` says where.
    public static let badJSON = ErrorCode("bad-json")
    /// An unknown, missing or doubled key, a value of the wrong type, an empty list of patterns.
    public static let badRequest = ErrorCode("bad-request")
    /// There is no such operation.
    public static let unknownOperation = ErrorCode("unknown-op")
    /// There is no such state.
    public static let unknownState = ErrorCode("unknown-state")
    /// There is no such event.
    public static let unknownEvent = ErrorCode("unknown-event")
    /// The state's `data` is missing or does not fit it.
    public static let badData = ErrorCode("bad-data")
    /// The state may not follow the current one.
    public static let illegalTransition = ErrorCode("illegal-transition")
    /// The machine is not where `ifSeq` or `ifState` expected it.
    public static let conflict = ErrorCode("conflict")
    /// A guard or a hold said no.
    public static let denied = ErrorCode("denied")
    /// The machine's file refuses the event where the machine is.
    public static let refused = ErrorCode("refused")
    /// The machine makes no moves of its own at the moment; the request may be repeated later.
    public static let suspended = ErrorCode("suspended")
    /// This door, or this user, may not do that.
    public static let forbidden = ErrorCode("forbidden")
    /// The time limit has passed.
    public static let timeout = ErrorCode("timeout")
    /// A state was reached that the request counts as failure.
    public static let failedState = ErrorCode("failed-state")
    /// There is nothing of that name or number.
    public static let notFound = ErrorCode("not-found")
    /// No more of them are allowed.
    public static let limit = ErrorCode("limit")
    /// Longer than it may be.
    public static let tooLong = ErrorCode("too-long")
    /// The daemon is going down.
    public static let shuttingDown = ErrorCode("shutting-down")
    /// What was to be read again has errors, and what was in force stays.
    public static let badFile = ErrorCode("bad-file")
    /// The machine is shared by several hosts, and this one cannot reach the others now.
    public static let unavailable = ErrorCode("unavailable")
    /// The daemon could not do its work.
    public static let `internal` = ErrorCode("internal")
}
