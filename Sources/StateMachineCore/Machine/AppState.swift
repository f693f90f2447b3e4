/// What an application is doing, as coarsely as those around it need to know.
public enum AppState: EnumState {
    /// Nothing is under way; the value says whether the application can be used.
    case ready(Bool)
    /// A user is being logged in.
    case authentication(phase: Phase)
    /// What the application shows is being fetched.
    case dataRetrieval(phase: Phase)

    /// How far an operation has come.
    public enum Phase: String, Hashable, Sendable, Codable, CaseIterable {
        /// Not begun.
        case idle
        /// Begun and not ended.
        case active
        /// Ended well.
        case success
        /// Ended badly.
        case failure
    }

    /// The cases of ``AppState`` without their values.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        /// ``AppState/ready(_:)``.
        case ready
        /// ``AppState/authentication(phase:)``.
        case authentication
        /// ``AppState/dataRetrieval(phase:)``.
        case dataRetrieval
    }

    /// Not ready, and nothing under way.
    public static var initial: Self { .ready(false) }

    /// The case that this state is.
    public var name: Name {
        switch self {
        case .ready: .ready
        case .authentication: .authentication
        case .dataRetrieval: .dataRetrieval
        }
    }

    /// Every state may follow every other.
    public func mayBecome(_ next: Self) -> Bool { true }

    /// The login's phase, without spelling its label.
    public static func authentication(_ phase: Phase) -> Self { .authentication(phase: phase) }

    /// The retrieval's phase, without spelling its label.
    public static func dataRetrieval(_ phase: Phase) -> Self { .dataRetrieval(phase: phase) }
}
