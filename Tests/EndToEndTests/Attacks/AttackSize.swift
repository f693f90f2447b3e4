import Foundation

/// How hard the attacks of this group press: a little in the check, and with `STATEMACHINE_ATTACK=full` as
/// hard as those that once worked.
enum AttackSize {
    static let isFull = ProcessInfo.processInfo.environment["STATEMACHINE_ATTACK"] == "full"

    /// So many in the check, and so many at full size.
    static func count(_ small: Int, full: Int) -> Int { Self.isFull ? full : small }
}
