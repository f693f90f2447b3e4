import Foundation
import StateMachineCore

/// A state with dates, enums and structures in its values; the names are read from the type.
enum Shop: EnumState {
    case closed(since: Date)
    case serving(Order, next: Drink?, round: [Drink])

    struct Order: Hashable, Sendable, Codable {
        var drink: Drink
        var placed: Date?
        var notes: [String: Int] = [:]
    }

    indirect enum Drink: Hashable, Sendable, Codable {
        case mixed(Drink, Drink)
        case coffee(cups: Int, Bool)
        case tea
    }

    static var initial: Shop { .closed(since: Date(timeIntervalSince1970: 0)) }
    static var examples: [Shop] { [.initial, .serving(Order(drink: .tea), next: .tea, round: [])] }
}
