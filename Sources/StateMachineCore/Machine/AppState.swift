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

    /// One of each case.
    public static var examples: [Self] {
        [.ready(false), .authentication(.idle), .dataRetrieval(.idle)]
    }

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

/// A state that belongs to one machine, so that it can be read and set through its type.
///
/// ```swift
/// extension AppState: @retroactive ApplicationState {
///     public static let machine = StateMachine<AppState>()
/// }
///
/// AppState.state = .authentication(.active)
/// if AppState.state == .ready(true) { … }
/// ```
///
/// The application chooses the machine; this module holds none. A state of the application's own
/// needs no `@retroactive`; that is for a state that another module declares.
public protocol ApplicationState: MachineState {
    /// The one machine.
    static var machine: StateMachine<Self> { get }
}

extension ApplicationState {
    /// The state of the one machine, read and set as ``StateMachine/state`` is.
    public static var state: Self {
        get { self.machine.state }
        set { self.machine.state = newValue }
    }
}
