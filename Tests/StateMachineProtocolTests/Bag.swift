import StateMachineCore

/// A state with unordered collections.
enum Bag: EnumState {
    case holding(counts: [String: Int], tags: Set<String>, weights: [Double: String])

    enum Name: String, Hashable, Sendable, CaseIterable {
        case holding
    }

    static var initial: Bag { .holding(counts: [:], tags: [], weights: [:]) }
    static var examples: [Bag] { [.initial] }

    var name: Name {
        switch self {
        case .holding: .holding
        }
    }
}
