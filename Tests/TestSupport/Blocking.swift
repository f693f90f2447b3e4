import Dispatch

/// Runs a blocking call on a thread that may block, outside the cooperative pool.
package func blocking<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        // A queue of its own gets a thread at once; the global queues start as many threads as
        // there are cores, and take a second over each further one.
        DispatchQueue(label: "blocking").async {
            continuation.resume(with: Swift.Result { try body() })
        }
    }
}

/// A failure of a test's own plumbing.
package struct TestFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
