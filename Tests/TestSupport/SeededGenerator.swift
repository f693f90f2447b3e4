import Foundation

/// Random numbers that are the same for the same seed: SplitMix64.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The sequence of that seed.
    public init(seed: UInt64) {
        self.state = seed
    }

    /// The next number.
    public mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// How long random walks and other tests by chance are, unless the environment says otherwise.
package enum Chance {
    private static func setting(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["STATEMACHINE_\(name)"]
    }

    /// The seeds of a walk; `STATEMACHINE_WALK_SEED` is the only one.
    package static var seeds: [UInt64] { self.seeds(2) }

    /// As many seeds, or that one.
    package static func seeds(_ usual: Int) -> [UInt64] {
        self.setting("WALK_SEED").flatMap(UInt64.init).map { [$0] }
            ?? (1...usual).map { UInt64($0) }
    }

    /// The steps of a walk: as usual, or `STATEMACHINE_WALK_STEPS`.
    package static func steps(_ usual: Int) -> Int {
        self.setting("WALK_STEPS").flatMap(Int.init) ?? usual
    }

    /// How often programs are killed: 5 times, or `STATEMACHINE_CRASH_ROUNDS`.
    package static var crashes: Int { self.setting("CRASH_ROUNDS").flatMap(Int.init) ?? 5 }
}
