import Foundation

/// How hard the attacks in this group press: lightly in the check; with `STATEMACHINE_ATTACK=full`,
/// as hard as those that once worked.
enum AttackSize {
    static let isFull = ProcessInfo.processInfo.environment["STATEMACHINE_ATTACK"] == "full"

    /// `small` in the check, `full` at full size.
    static func count(_ small: Int, full: Int) -> Int { Self.isFull ? full : small }
}
