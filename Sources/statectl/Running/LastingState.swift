import StateMachineClient
import StateMachineCore

/// Decides how long the machine has been in one of some states without a break.
///
/// It takes the lines of a watch for these states alone: a change whose number does not follow the
/// last one's comes back from another state.
struct LastingState<Instant: InstantProtocol> where Instant.Duration == Duration {
    /// The seq of the last line, while the machine is in one of them; nil otherwise.
    private(set) var seq: UInt64?
    /// Since when; nil while it is in none.
    private(set) var since: Instant?

    /// Takes a line of the watch, whose change was made that long ago.
    mutating func lineReceived(_ line: Line, at now: Instant, _ age: Duration) {
        switch line.kind {
        case .change, .state: break
        case .live where !line.isSelected: return self.left()
        // The changes before it have said so.
        case .live, .beat, .reply, .declared, .ask, .bye, .other: return
        }
        guard line.isSelected, let seq = line.seq else { return self.left() }
        let isNext = line.kind == .change && self.seq.map { $0 + 1 == seq } ?? false
        if !isNext { self.since = now.advanced(by: .zero - age) }
        self.seq = seq
    }

    private mutating func left() { (self.seq, self.since) = (nil, nil) }
}
