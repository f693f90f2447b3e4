import Foundation

// What is inside a state is any type that is Hashable, Sendable and Codable.
struct Order: Hashable, Sendable, Codable {
    enum Drink: Hashable, Sendable, Codable {
        case tea
        case coffee(cups: Int)
    }

    var drink: Drink
    var placed: Date

    static let example = Order(drink: .tea, placed: .distantPast)
}
