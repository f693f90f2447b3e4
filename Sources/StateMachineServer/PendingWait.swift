import NIOCore
import StateMachineWire

/// A `wait` that has not been answered.
///
/// Belongs to the event loop.
final class PendingWait {
    let id: RequestID?
    let call: WaitCall
    /// Set if its cursor could not be used; it was judged from the current state on.
    let resync: ServerLine.Resync?
    var timeout: Scheduled<Void>?

    init(id: RequestID?, call: WaitCall, resync: ServerLine.Resync?) {
        self.id = id
        self.call = call
        self.resync = resync
    }

    /// How a state ends the wait.
    enum Verdict {
        case reached(Pattern)
        case failed(Pattern)
    }

    /// What the wait says to a state; nil if it goes on.
    func verdict(_ matches: (Pattern) -> Bool) -> Verdict? {
        if let pattern = self.call.fail.first(where: matches) { return .failed(pattern) }
        if let pattern = self.call.until.first(where: matches) { return .reached(pattern) }
        return nil
    }
}
