import StateMachineCore
import StateMachineProtocol

/// A few changes from before the ring, as lines for one reader, ready to be sent.
struct RecordedLines: Sendable {
    private(set) var lines: [(seq: UInt64, length: Int)] = []
    private(set) var bytes: [UInt8] = []
    /// The last change that was examined.
    private(set) var examined: UInt64
    /// Whether another wanted change follows, beyond the limit.
    private(set) var hasMore = false
    /// How many changes the lines report.
    private(set) var changes = 0

    /// The wanted changes among those that a query returned, or their outline, all of it in one line.
    init(_ finding: TransitionFinding, _ selection: ChangeSelection, in epoch: Epoch) {
        self.examined = finding.examined
        if let outline = finding.outline, !outline.entries.isEmpty {
            self.bytes = ServerLine.outline(id: selection.id, outline, in: epoch)
            self.lines = [(outline.examined, self.bytes.count)]
            self.changes = outline.entries.count
        }
        let wanted = finding.transitions.prefix(Int(clamping: selection.limit))
        if let next = finding.transitions.dropFirst(wanted.count).first {
            self.hasMore = true
            self.examined = selection.isNewestFirst ? next.seq + 1 : next.seq - 1
        }
        let head = selection.head
        switch selection.mode {
        case .all: for transition in wanted { self.append(transition, head, skipped: 0, epoch) }
        case .latest:
            guard let newest = wanted.last else { break }
            self.append(newest, head, skipped: UInt64(wanted.count - 1), epoch)
        }
    }

    private mutating func append(
        _ transition: RecordedTransition,
        _ head: [UInt8],
        skipped: UInt64,
        _ epoch: Epoch
    ) {
        let start = self.bytes.count
        self.bytes += head
        self.bytes += transition.line(in: epoch).dropFirst(ChangeLine.head.count)
            .dropLast(ChangeLine.tail.utf8CodeUnitCount)
        self.bytes += ChangeLine.tail(skipped: skipped, isReplayed: true)
        self.lines.append((transition.seq, self.bytes.count - start))
        self.changes += 1
    }
}
