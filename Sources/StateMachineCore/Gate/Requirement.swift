/// A guard that is required: while none of its name is connected, what it guards is denied.
package struct Requirement: Hashable, Sendable, Codable {
    /// What it is known by.
    package let name: String
    /// Whose it is: who connected last.
    package var peer: Peer
    /// The line that asked for it last.
    package var request: [UInt8]
    /// Since when it has been required.
    package let since: WallTime
    /// Since when none has been connected; nil while one is.
    package var missing: WallTime?

    package init(
        name: String,
        peer: Peer,
        request: [UInt8],
        since: WallTime,
        missing: WallTime? = nil
    ) {
        self.name = name
        self.peer = peer
        self.request = request
        self.since = since
        self.missing = missing
    }
}

/// A history that keeps which guards are required.
package protocol RequirementHistory: AnyObject, Sendable {
    /// Those that the last run left, by name.
    var requirements: [Requirement] { get }

    /// Writes one down in place of what is known of its name.
    ///
    /// - Parameters:
    ///   - requirement: as it is now.
    ///   - done: called once, from anywhere; nil, or why it could not be done.
    func keep(_ requirement: Requirement, done: @escaping @Sendable (_ failure: String?) -> Void)

    /// Forgets the one of that name.
    ///
    /// - Parameters:
    ///   - name: what it is known by.
    ///   - done: called once, from anywhere; nil, or why it could not be done.
    func forget(_ name: String, done: @escaping @Sendable (_ failure: String?) -> Void)
}
