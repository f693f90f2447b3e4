import StateMachineCore

/// An answer that many ask for, made once in a while and shared by all who ask meanwhile.
actor CachedAnswer {
    /// How old an answer may be.
    private let age: Duration
    private let make: @Sendable () async throws -> String
    private var last: (time: ContinuousClock.Instant, value: String)?
    private var current: Task<String, any Error>?

    /// - Parameters:
    ///   - age: how old an answer may be. 500 ms is for people to look at: a hundred browsers cost the daemon as much as
    ///     one.
    ///   - make: makes an answer.
    init(
        _ age: Duration = .milliseconds(500),
        _ make: @escaping @Sendable () async throws -> String
    ) {
        (self.age, self.make) = (age, make)
    }

    /// - Throws: what making the answer throws.
    func value() async throws -> String {
        if let last, ContinuousClock.now - last.time < self.age { return last.value }
        if let current { return try await current.value }
        let task = Task(executorPreference: QueueExecutor.shared) { [make] in try await make() }
        self.current = task
        defer { self.current = nil }
        let value = try await task.value
        self.last = (.now, value)
        return value
    }
}
