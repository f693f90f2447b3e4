import Dispatch

/// Runs a call that blocks on a thread that may, away from the cooperative pool.
package func blocking<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        // A queue of its own has a thread at once; the global ones give out as many as there are cores
        // and think about every further one for a second.
        DispatchQueue(label: "blocking").async {
            continuation.resume(with: Swift.Result { try body() })
        }
    }
}

/// What a test's own plumbing ran into.
package struct TestFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
