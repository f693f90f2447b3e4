import StateMachineProtocol

/// Why a daemon refused a request, as a word that does not change; later daemons may have others.
public struct RefusalCode: Hashable, Sendable, CustomStringConvertible {
    /// The word.
    public let description: String

    /// The code of that word.
    public init(_ word: String) {
        self.description = word
    }

    private init(_ code: ErrorCode) {
        self.init(code.rawValue)
    }

    /// The line is not JSON.
    public static let badJSON = RefusalCode(.badJSON)
    /// A key is unknown, missing or of the wrong type.
    public static let badRequest = RefusalCode(.badRequest)
    /// The daemon does not know the operation.
    public static let unknownOperation = RefusalCode(.unknownOperation)
    /// The daemon's enum has no such case.
    public static let unknownState = RefusalCode(.unknownState)
    /// The associated values do not fit the state.
    public static let badData = RefusalCode(.badData)
    /// The state may not follow the current one.
    public static let illegalTransition = RefusalCode(.illegalTransition)
    /// The machine is not where the request expected it.
    public static let conflict = RefusalCode(.conflict)
    /// A guard or a hold said no.
    public static let denied = RefusalCode(.denied)
    /// This door, or this user, may not do that.
    public static let forbidden = RefusalCode(.forbidden)
    /// The time given ran out.
    public static let timeout = RefusalCode(.timeout)
    /// A state was reached that the request counts as failure.
    public static let failedState = RefusalCode(.failedState)
    /// There is nothing of that name or number.
    public static let notFound = RefusalCode(.notFound)
    /// There are as many as there may be.
    public static let limit = RefusalCode(.limit)
    /// Longer than it may be.
    public static let tooLong = RefusalCode(.tooLong)
    /// The daemon is going down.
    public static let shuttingDown = RefusalCode(.shuttingDown)
    /// The daemon could not do its work.
    public static let `internal` = RefusalCode(.internal)
}
