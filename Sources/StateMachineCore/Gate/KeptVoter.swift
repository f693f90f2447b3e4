/// A client's hold or guard as it is recorded, so that it outlives a crash.
package struct KeptVoter: Hashable, Sendable, Codable {
    /// Its number, which no other has that is recorded.
    package let number: UInt64
    /// The name that it is required as, or that it is held as; nil if it ends with its connection.
    package let name: String?
    /// The peer that asked for it last.
    package var peer: Peer
    /// The line that asked for it last.
    package var request: [UInt8]
    /// Since when it has been there.
    package var since: WallTime
    /// Since when no guard of its name has been connected; nil while one is, and for all others.
    package var missing: WallTime?
    /// When a hold that belongs to no connection ends; nil for all others.
    package let until: WallTime?

    package init(
        number: UInt64,
        name: String?,
        peer: Peer,
        request: [UInt8],
        since: WallTime,
        missing: WallTime? = nil,
        until: WallTime? = nil
    ) {
        self.number = number
        self.name = name
        self.peer = peer
        self.request = request
        self.since = since
        self.missing = missing
        self.until = until
    }

    /// How long it lasts.
    package enum Term: Hashable, Sendable {
        /// As long as its client's connection.
        case connection
        /// Until it is released: while no guard of that name is connected, it denies.
        case required(String)
        /// Until then, whoever is connected.
        case named(String, until: WallTime)
    }

    /// How long it lasts.
    package var term: Term {
        switch (self.name, self.until) {
        case (nil, _): .connection
        case (let name?, nil): .required(name)
        case (let name?, let until?): .named(name, until: until)
        }
    }
}
