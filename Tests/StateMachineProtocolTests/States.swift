import Foundation
import StateMachineCore
import StateMachineProtocol

/// A state with every shape of associated value that an application may use.
enum Job: EnumState {
    case idle
    case queued(Int)
    case paired(Int, String)
    case maybe(Bool?)
    case running(id: UInt64, ratio: Double, tags: [String], owner: Owner, note: String?)
    case stopped(reason: Reason, level: Level)
    case failed(before: Int, kind: Kind, retries: Int?)
    case coded(Code)
    case ended(Kind?, after: Int)

    /// A structure inside a value.
    struct Owner: Hashable, Sendable, Codable {
        var name: String
        var uid: UInt32?
        var groups: [Int] = []
    }

    /// Strings that the type enumerates.
    enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
        case asked
        case idle
    }

    /// Integers that the type enumerates.
    enum Level: Int, Hashable, Sendable, Codable, CaseIterable {
        case low = 1
        case high = 10
    }

    /// Strings that the type does not enumerate.
    enum Kind: String, Hashable, Sendable, Codable {
        case network
        case disk
    }

    /// Integers that the type does not enumerate.
    enum Code: Int, Hashable, Sendable, Codable {
        case fine = 200
        case gone = 410
    }

    static var initial: Job { .idle }
    static var examples: [Job] {
        [
            .idle, .queued(0), .paired(0, ""), .maybe(nil),
            .running(id: 0, ratio: 0, tags: [], owner: Owner(name: ""), note: nil),
            .stopped(reason: .asked, level: .low), .failed(before: 0, kind: .disk, retries: nil),
            .coded(.fine), .ended(.disk, after: 0),
        ]
    }
}

/// A state that holds numbers of every width.
enum Gauge: EnumState {
    case signed(i8: Int8, i16: Int16, i32: Int32, i64: Int64)
    case unsigned(u8: UInt8, u16: UInt16, u32: UInt32, u64: UInt64)
    case real(single: Float, double: Double)

    static var initial: Gauge { .real(single: 0, double: 0) }
    static var examples: [Gauge] {
        [
            .signed(i8: 0, i16: 0, i32: 0, i64: 0), .unsigned(u8: 0, u16: 0, u32: 0, u64: 0),
            .initial,
        ]
    }
}

/// A state whose successors depend on all of its values together.
enum Lamp: EnumState {
    case off
    case on(isDimmed: Bool, colour: Colour)
    case broken

    enum Colour: String, Hashable, Sendable, Codable, CaseIterable {
        case red
        case white
    }

    enum Name: String, Hashable, Sendable, CaseIterable {
        case off
        case on
        case broken
    }

    static var initial: Lamp { .off }
    static var examples: [Lamp] {
        [.off, .on(isDimmed: false, colour: .white), .on(isDimmed: true, colour: .red), .broken]
    }

    var successors: Set<Name> {
        switch self {
        case .off: [.on]
        // Only one of the four combinations leads to `broken`.
        case .on(isDimmed: true, colour: .red): [.off, .broken]
        case .on: [.off]
        case .broken: []
        }
    }
}

/// A state with unordered collections.
enum Bag: EnumState {
    case holding(counts: [String: Int], tags: Set<String>, weights: [Double: String])

    static var initial: Bag { .holding(counts: [:], tags: [], weights: [:]) }
    static var examples: [Bag] { [.initial] }
}

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

    static var initial: Note { .blank }
    static var examples: [Note] {
        [.blank, .text(""), .ratio(0), .count(0), .word(.first), .list([]), .table([:])]
    }
}

extension JSONValue {
    /// The JSON text of this value.
    var text: String { self.description }

    /// Parses a JSON text.
    init(reading text: String) throws(JSONSyntaxError) {
        var parser = JSONParser(Array(text.utf8))
        self = try parser.parse()
    }
}

extension Request {
    /// The request in the form of the examples: `id` is the second key.
    var example: JSONValue {
        var members = self.object.members ?? []
        if let index = members.firstIndex(where: { $0.key == "id" }) {
            members.insert(members.remove(at: index), at: 1)
        }
        return .object(members)
    }
}

/// What a schema says of values, of a program's own states.
extension StateCoding {
    func data(of state: State) -> JSONValue { self.schema.encoded(TypedValue(state)).data }

    func fragment(of state: State) -> [UInt8] { self.schema.encoded(TypedValue(state)).fragment }

    func matches(_ pattern: Pattern, _ state: State) -> Bool {
        self.schema.matches(pattern, TypedValue(state))
    }

    func carried(_ name: String, data: [JSONMember]) throws(NotCarriedOver) -> State {
        TypedValue.state(of: try self.schema.carried(name, data: data))
    }
}
