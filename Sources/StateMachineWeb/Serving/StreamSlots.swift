import Synchronization

/// Counts the streams, and the requests that wait, of each address.
///
/// Guarded state: the counts, behind a lock.
final class StreamSlots: Sendable {
    /// The most streams and waits of one address.
    ///
    /// 256: half of all connections, so that one address leaves room for others. A Unix socket's
    /// peers have no addresses to tell them apart; only the limit of all connections applies to
    /// them.
    static let perAddress = 256

    /// A slot, taken for as long as this value lives.
    final class Slot: Sendable {
        private let slots: StreamSlots
        private let address: String?

        fileprivate init(_ slots: StreamSlots, _ address: String?) {
            (self.slots, self.address) = (slots, address)
        }

        deinit {
            if let address { self.slots.giveBack(address) }
        }
    }

    private let counts = Mutex<[String: Int]>([:])

    /// Takes a slot; nil if there is none.
    func take(_ address: String?) -> Slot? {
        guard let address else { return Slot(self, nil) }
        let hasRoom = self.counts.withLock { counts in
            let count = counts[address] ?? 0
            guard count < Self.perAddress else { return false }
            counts[address] = count + 1
            return true
        }
        return hasRoom ? Slot(self, address) : nil
    }

    private func giveBack(_ address: String) {
        self.counts.withLock { counts in
            let count = counts[address] ?? 1
            counts[address] = count > 1 ? count - 1 : nil
        }
    }
}
