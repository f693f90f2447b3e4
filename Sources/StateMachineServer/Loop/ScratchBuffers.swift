import Glibc
import StateMachineProtocol

/// The memory in which lines are put together, shared by all connections in turn and kept between writes.
///
/// Whoever uses it begins by clearing what is there. Belongs to the event loop.
final class ScratchBuffers {
    /// One line, before it goes into the ring or to its client.
    @exclusivity(unchecked) var line = LineWriter()
    /// The vectors of one write.
    var vectors: [iovec] = []
    /// Where the replies of one write gather.
    @exclusivity(unchecked) private var replies: [UInt8] = []

    /// Takes the memory for replies; the next taker gets new memory until it is given back.
    func takeReplies() -> [UInt8] { exchange(&self.replies, with: []) }

    /// Gives memory for replies back after its bytes have been written.
    ///
    /// A quarter of a megabyte at most is kept, which is what a few replies with long states take.
    func giveBack(_ bytes: inout [UInt8]) {
        guard bytes.capacity <= 1 << 18, bytes.capacity > self.replies.capacity else { return }
        bytes.removeAll(keepingCapacity: true)
        self.replies = exchange(&bytes, with: [])
    }
}
