import StateMachineCore

/// A state whose values accept whatever a client writes into them.
enum Note: EnumState {
    case blank
    case text(String)
    case ratio(Double)
    case count(UInt64)
    case word(Word)
    case list([String])
    case table([String: Int])

    /// Strings that the type does not enumerate.
    enum Word: String, Hashable, Sendable, Codable {
        case first
        case second
    }

    enum Name: String, Hashable, Sendable, CaseIterable {
        case blank
        case text
        case ratio
        case count
        case word
        case list
        case table
    }

    static var initial: Note { .blank }
    static var examples: [Note] {
        [.blank, .text(""), .ratio(0), .count(0), .word(.first), .list([]), .table([:])]
    }

    var name: Name {
        switch self {
        case .blank: .blank
        case .text: .text
        case .ratio: .ratio
        case .count: .count
        case .word: .word
        case .list: .list
        case .table: .table
        }
    }
}
