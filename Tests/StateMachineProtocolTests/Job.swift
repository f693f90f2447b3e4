import StateMachineCore

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

    enum Name: String, Hashable, Sendable, CaseIterable {
        case idle
        case queued
        case paired
        case maybe
        case running
        case stopped
        case failed
        case coded
        case ended
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

    var name: Name {
        switch self {
        case .idle: .idle
        case .queued: .queued
        case .paired: .paired
        case .maybe: .maybe
        case .running: .running
        case .stopped: .stopped
        case .failed: .failed
        case .coded: .coded
        case .ended: .ended
        }
    }
}

/// A state that holds numbers of every width.
enum Gauge: EnumState {
    case signed(i8: Int8, i16: Int16, i32: Int32, i64: Int64)
    case unsigned(u8: UInt8, u16: UInt16, u32: UInt32, u64: UInt64)
    case real(single: Float, double: Double)

    enum Name: String, Hashable, Sendable, CaseIterable {
        case signed
        case unsigned
        case real
    }

    static var initial: Gauge { .real(single: 0, double: 0) }
    static var examples: [Gauge] {
        [
            .signed(i8: 0, i16: 0, i32: 0, i64: 0), .unsigned(u8: 0, u16: 0, u32: 0, u64: 0),
            .initial,
        ]
    }

    var name: Name {
        switch self {
        case .signed: .signed
        case .unsigned: .unsigned
        case .real: .real
        }
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
        [
            .off, .on(isDimmed: false, colour: .white), .on(isDimmed: true, colour: .red), .broken,
        ]
    }

    var name: Name {
        switch self {
        case .off: .off
        case .on: .on
        case .broken: .broken
        }
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
