/// A required guard: while no guard of that name is connected, what it guards is denied.
package struct Requirement: Hashable, Sendable, Codable {
    /// The guard's name.
    package let name: String
    /// The last peer that connected as this guard.
    package var peer: Peer
    /// The line that last requested it.
    package var request: [UInt8]
    /// Since when it has been required.
    package let since: WallTime
    /// Since when no guard of that name has been connected; nil while one is.
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
    /// The requirements that the last run left, by name.
    var requirements: [Requirement] { get }

    /// Records a requirement in place of the one of its name.
    ///
    /// - Parameters:
    ///   - requirement: as it is now.
    ///   - done: called once, from anywhere; nil, or why it failed.
    func keep(_ requirement: Requirement, done: @escaping @Sendable (_ failure: String?) -> Void)

    /// Forgets the one of that name.
    ///
    /// - Parameters:
    ///   - name: the guard's name.
    ///   - done: called once, from anywhere; nil, or why it failed.
    func forget(_ name: String, done: @escaping @Sendable (_ failure: String?) -> Void)
}
