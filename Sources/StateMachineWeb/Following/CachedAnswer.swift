/// An answer that many ask for and that is made once in a while, for all who ask meanwhile.
actor CachedAnswer {
    /// How old an answer may be.
    ///
    /// 500 ms: what is looked at by people; a hundred browsers ask the daemon as often as one.
    private static let age = Duration.milliseconds(500)

    private let make: @Sendable () async throws -> String
    private var last: (time: ContinuousClock.Instant, value: String)?
    private var current: Task<String, any Error>?

    init(_ make: @escaping @Sendable () async throws -> String) {
        self.make = make
    }

    /// - Throws: what making it throws.
    func value() async throws -> String {
        if let last, ContinuousClock.now - last.time < Self.age { return last.value }
        if let current { return try await current.value }
        let task = Task { [make] in try await make() }
        self.current = task
        defer { self.current = nil }
        let value = try await task.value
        self.last = (.now, value)
        return value
    }
}
