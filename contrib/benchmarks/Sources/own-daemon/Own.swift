import StateMachineEmbedding

/// The stock states as a program would declare its own, for the driver's `statemachine-own`.
@main
enum Own: StateMachineProgram {
    case ready(value: Bool)
    case authentication(phase: Phase)
    case dataRetrieval(phase: Phase)

    enum Phase: String, Hashable, Sendable, Codable, CaseIterable {
        case idle, active, success, failure
    }

    static var initial: Own { .ready(value: false) }
    static var examples: [Own] {
        [.ready(value: false), .authentication(phase: .idle), .dataRetrieval(phase: .idle)]
    }
}
