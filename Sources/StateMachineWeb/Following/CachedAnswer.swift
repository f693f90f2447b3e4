import StateMachineCore

/// An answer that many ask for, made once in a while and shared by all who ask meanwhile.
actor CachedAnswer<Value: Sendable> {
    /// How old an answer may be.
    private let age: Duration
    private let make: @Sendable () async throws -> Value
    private var last: (time: ContinuousClock.Instant, value: Value)?
    private var current: Task<Value, any Error>?

    /// - Parameters:
    ///   - age: how old an answer may be. 500 ms is for people to look at: a hundred browsers cost the daemon as much as
    ///     one.
    ///   - make: makes an answer.
    init(
        _ age: Duration = .milliseconds(500),
        _ make: @escaping @Sendable () async throws -> Value
    ) {
        (self.age, self.make) = (age, make)
    }

    /// - Throws: what making the answer throws.
    func value() async throws -> Value {
        if let last, ContinuousClock.now - last.time < self.age { return last.value }
        if let current { return try await current.value }
        let task = Task(executorPreference: QueueExecutor.shared) { [make] in try await make() }
        self.current = task
        let result = await task.result
        // An answer that was forgotten while it was made is for those who had asked by then.
        guard self.current == task else { return try result.get() }
        self.current = nil
        let value = try result.get()
        self.last = (.now, value)
        return value
    }

    /// Whoever asks from now on gets an answer that is made from now on.
    func forget() { (self.last, self.current) = (nil, nil) }
}
