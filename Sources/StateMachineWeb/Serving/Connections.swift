/// The connections of browsers: how many there may be, and which has to go so that somebody else is answered.
///
/// Decides, and closes nothing: whoever asks closes what it is given.
struct Connections<Handle> {
    /// The most connections, and the most of them that are streams or waits.
    ///
    /// 512: what the daemon has, and half of a process's usual 1024 descriptors; 448: so that 64 can always be asked for
    /// something else.
    static var most: (all: Int, following: Int) { (512, 448) }
    /// The most of one address.
    ///
    /// 256 streams and waits are half of all connections, so that one address leaves room for others; and as many others
    /// as there are kept for all.
    static var ofOne: (all: Int, following: Int) { (320, 256) }

    /// What a connection is there for at the moment.
    private enum Work {
        /// It has not asked yet, or has its answer.
        case idle
        /// It gets an answer that is made at once.
        case asking
        /// It has a stream, or a request that waits.
        case following
    }

    private struct Entry {
        let handle: Handle
        let address: ClientAddress?
        var work = Work.idle
        /// When that began, as a number that grows.
        var since: UInt64
    }

    private struct Count {
        var all = 0
        var following = 0
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var total = Count()
    /// For each address; those that have none are in the total only.
    private var counts: [ClientAddress: Count] = [:]
    private var last: UInt64 = 0

    /// Takes a new one in.
    ///
    /// - Returns: the one that has to be closed for it, and is no longer counted: of the same address if that has as many
    ///   as it may have, and of all if there are no more places. One that is idle goes first, then one that is being
    ///   answered, of these the one that has been it for longest.
    mutating func add(
        _ id: ObjectIdentifier,
        _ handle: Handle,
        from address: ClientAddress?
    ) -> Handle? {
        let own = address.flatMap { self.counts[$0] }?.all ?? 0
        var leaving: ObjectIdentifier?
        if own >= Self.ofOne.all {
            leaving = self.expendable { $0.address == address }
        } else if self.total.all >= Self.most.all {
            leaving = self.expendable { _ in true }
        }
        self.last += 1
        self.entries[id] = Entry(handle: handle, address: address, since: self.last)
        self.count(address) { $0.all += 1 }
        return leaving.flatMap { self.remove($0) }
    }

    /// It has asked for something.
    mutating func ask(_ id: ObjectIdentifier) { self.turn(id, to: .asking) }

    /// It wants a stream, or to wait.
    ///
    /// - Returns: why it may not; nil if it may.
    mutating func follow(_ id: ObjectIdentifier) -> TooManyFollow? {
        guard let entry = self.entries[id], entry.work != .following else { return nil }
        if let address = entry.address,
            self.counts[address]?.following ?? 0 >= Self.ofOne.following
        {
            return .ofOne(Self.ofOne.following)
        }
        guard self.total.following < Self.most.following else { return .all(Self.most.following) }
        self.turn(id, to: .following)
        return nil
    }

    /// It has its answer.
    mutating func rest(_ id: ObjectIdentifier) { self.turn(id, to: .idle) }

    /// It is gone.
    @discardableResult
    mutating func remove(_ id: ObjectIdentifier) -> Handle? {
        guard let entry = self.entries.removeValue(forKey: id) else { return nil }
        self.count(entry.address) {
            $0.all -= 1
            if entry.work == .following { $0.following -= 1 }
        }
        return entry.handle
    }

    private mutating func turn(_ id: ObjectIdentifier, to work: Work) {
        guard var entry = self.entries[id] else { return }
        self.count(entry.address) {
            if entry.work == .following { $0.following -= 1 }
            if work == .following { $0.following += 1 }
        }
        self.last += 1
        (entry.work, entry.since) = (work, self.last)
        self.entries[id] = entry
    }

    private mutating func count(_ address: ClientAddress?, _ change: (inout Count) -> Void) {
        change(&self.total)
        guard let address else { return }
        var count = self.counts[address] ?? Count()
        change(&count)
        self.counts[address] = count.all > 0 ? count : nil
    }

    /// The one to be closed; never one that has a stream or waits.
    private func expendable(_ isAsked: (Entry) -> Bool) -> ObjectIdentifier? {
        self.entries.filter { $0.value.work != .following && isAsked($0.value) }
            .min { one, other in
                let (isOne, isOther) = (one.value.work == .idle, other.value.work == .idle)
                return isOne == isOther ? one.value.since < other.value.since : isOne
            }?.key
    }
}

/// Whose streams and waits are too many, and how many there may be.
enum TooManyFollow: Equatable {
    case ofOne(Int)
    case all(Int)
}

/// Where a browser connects from, as far as it is counted.
enum ClientAddress: Hashable, Sendable {
    /// This computer: 127.0.0.0/8, all of which any of its users may use, or `::1`.
    case local
    case v4(UInt32)
    /// A network of 64 bits, which is what one host is given at least.
    case v6(UInt64)

    init(v4 number: UInt32) {
        self = number >> 24 == 127 ? .local : .v4(number)
    }

    /// - Parameter bytes: the sixteen of an address.
    init(v6 bytes: some Collection<UInt8>) {
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        let (network, host) = (number(bytes.prefix(8)), number(bytes.dropFirst(8)))
        switch (network, host >> 32, host) {
        // `::ffff:1.2.3.4`: RFC 4291, 2.5.5.2.
        case (0, 0xffff, _): self.init(v4: UInt32(truncatingIfNeeded: host))
        case (0, _, 1): self = .local
        default: self = .v6(network)
        }
    }
}
