import NIOCore
import StateMachineCore

/// Decides which transitions are logged one by one and which are summed up; logs nothing itself.
///
/// A limited number a second are logged one by one; the rest wait for the second's end and share
/// one line. Nothing is left out, and what waits is a number and a state.
struct TransitionPace {
    /// What is summed up.
    struct Rest {
        fileprivate(set) var count: UInt64
        let first: UInt64
        fileprivate(set) var last: Place
        /// When it is to be written.
        let at: NIODeadline
    }

    /// What to do with transitions that have come.
    enum Action: Equatable {
        /// Log so many of them, one by one.
        case log(Int)
        /// Log so many of them, and the rest when the second has ended.
        case logAndSumUp(Int)
        /// Nothing: they are summed up with others.
        case wait
    }

    /// How many more may be logged one by one in the second that ends at `end`.
    private var left = 0
    private var end = NIODeadline.uptimeNanoseconds(0)
    /// How many are to be logged one by one and are not written yet.
    private var unwritten = 0
    private var rest: Rest?

    /// Decides what to do with transitions that have come.
    ///
    /// - Parameters:
    ///   - seqs: which; at least one.
    ///   - last: the newest of them.
    ///   - isToBeHad: whether they can be logged one by one.
    ///   - perSecond: how many a second may be logged one by one.
    ///   - now: the time.
    /// - Returns: what is to be done with them.
    mutating func entered(
        _ seqs: ClosedRange<UInt64>,
        _ last: Place,
        isToBeHad: Bool = true,
        perSecond: Int,
        now: NIODeadline
    ) -> Action {
        guard self.rest == nil else {
            self.rest?.count += UInt64(seqs.count)
            self.rest?.last = last
            return .wait
        }
        if now >= self.end {
            self.end = now + .seconds(1)
            // A slow log first has to write what it already has.
            self.left = perSecond - self.unwritten
        }
        let count = isToBeHad ? min(max(0, self.left), seqs.count) : 0
        self.left -= count
        self.unwritten += count
        guard count < seqs.count else { return .log(count) }
        self.rest = Rest(
            count: UInt64(seqs.count - count),
            first: seqs.lowerBound + UInt64(count),
            last: last,
            at: self.end
        )
        return .logAndSumUp(count)
    }

    /// Notes that so many of them are written.
    mutating func wrote(_ count: Int) { self.unwritten -= count }

    /// When the rest is to be written; nil if there is none.
    var dueAt: NIODeadline? { self.rest?.at }

    /// Takes the rest, which is about to be written, and begins another second.
    mutating func takeRest() -> Rest? {
        // Those that come now are logged after it.
        self.end = .uptimeNanoseconds(0)
        return self.rest.take()
    }
}
