import StateMachineCore

/// A line on a terminal that shows the progress of something that takes longer than a second.
///
/// It is written to standard error, which is for people there, and removed when the work is done.
/// Belongs to one task.
final class Progress {
    /// How long to wait before the line is first shown, and then between two updates.
    private static let pause = (first: Duration.seconds(1), next: Duration.milliseconds(100))
    /// Changes between two looks at the clock, which costs more than many changes.
    private static let look: UInt64 = 256

    private let what: String
    private let isShown: Bool
    private let now: () -> ContinuousClock.Instant
    private let write: ([UInt8]) -> Void
    private var next: ContinuousClock.Instant
    private var looked: UInt64 = 0
    private var isWritten = false

    /// - Parameters:
    ///   - what: what is being done: `reading the past`.
    ///   - isShown: whether anybody sees it.
    ///   - now: the clock.
    ///   - write: where the line goes.
    init(
        _ what: String,
        isShown: Bool = StandardError.isTerminal,
        now: @escaping () -> ContinuousClock.Instant = { .now },
        write: @escaping ([UInt8]) -> Void = StandardError.pass
    ) {
        self.what = what
        self.isShown = isShown
        self.now = now
        self.write = write
        self.next = now().advanced(by: Self.pause.first)
    }

    /// Shows how many changes are done, and out of how many if that is known.
    func show(_ count: UInt64, of whole: UInt64? = nil) {
        guard self.isShown, count >= self.looked + Self.look else { return }
        self.looked = count
        let now = self.now()
        guard now >= self.next else { return }
        self.next = now.advanced(by: Self.pause.next)
        var text = "\(self.what): \(count) changes"
        if let whole, whole > 0 { text += ", \(min(100, count * 100 / whole)) %" }
        let room = StandardError.columns.map { $0 - 1 } ?? 79
        self.write(Array("\r\u{1B}[K\(StyledText(text).cut(to: room).text(.plain))".utf8))
        self.isWritten = true
    }

    /// Removes the line.
    func end() {
        guard self.isWritten else { return }
        self.isWritten = false
        self.write(Array("\r\u{1B}[K".utf8))
    }
}
