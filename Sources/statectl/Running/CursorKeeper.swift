import StateMachineCore

/// Writes the newest cursor into its file: soon, but not for every line.
///
/// Guarded state: `cursors`, behind its lock. The file is written by one task at a time: by ``run``,
/// and by whoever calls ``write()`` once that has ended.
final class CursorKeeper: Sendable {
    /// The shortest time between two writes.
    ///
    /// 1 s: when a watch is killed, this much is shown again.
    static let interval = Duration.seconds(1)

    private struct Cursors {
        var newest: String?
        var written: String?
    }

    private let file: CursorFile
    private let cursors = Lock(Cursors())
    private let wishes: AsyncStream<Void>
    private let wish: AsyncStream<Void>.Continuation

    init(_ file: CursorFile) {
        self.file = file
        (self.wishes, self.wish) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Notes that a line with that cursor was dealt with.
    func note(_ cursor: String?) {
        guard let cursor else { return }
        self.cursors.withLock { $0.newest = cursor }
        self.wish.yield()
    }

    /// Writes noted cursors until the task is cancelled.
    func run(clock: some Clock<Duration> = ContinuousClock()) async throws {
        for await _ in self.wishes {
            try self.write()
            try await clock.sleep(for: Self.interval)
        }
    }

    /// Writes the newest cursor unless it is written already.
    func write() throws(CursorFile.Failure) {
        let newest = self.cursors.withLock { $0.newest == $0.written ? nil : $0.newest }
        guard let newest else { return }
        try self.file.write(newest)
        self.cursors.withLock { $0.written = newest }
    }
}
