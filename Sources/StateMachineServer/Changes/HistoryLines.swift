import StateMachineCore
import StateMachineProtocol

/// A few old changes as lines for one reader, ready to be sent.
struct HistoryLines: Sendable {
    private(set) var lines: [(seq: UInt64, length: Int)] = []
    private(set) var bytes: [UInt8] = []
    /// The last change that was examined.
    private(set) var examined: UInt64
    /// Whether changes are missing among those examined.
    private(set) var hasGap = false
    /// Whether another wanted change follows, beyond the limit.
    private(set) var hasMore = false
    /// How many changes the lines report.
    private(set) var changes = 0

    /// Which old changes a reader wants, and in what form.
    struct Selection: Sendable {
        /// What its lines begin with.
        let head: [UInt8]
        let only: PatternList?
        /// In `latest`, one line stands for all wanted changes.
        var mode = WatchMode.all
        /// The last change to include, and how many at most.
        var end = UInt64.max
        var limit = UInt64.max
    }

    init(_ transitions: [RecordedTransition], _ selection: Selection, in epoch: Epoch) {
        self.examined = transitions.first.map { $0.seq - 1 } ?? 0
        var wanted: [RecordedTransition] = []
        for transition in transitions where transition.seq <= selection.end {
            if selection.only?.contains(where: transition.new.names) ?? true {
                guard wanted.count < selection.limit else {
                    self.hasMore = true
                    break
                }
                wanted.append(transition)
            }
            self.examined = transition.seq
        }
        switch selection.mode {
        case .all:
            for transition in wanted { self.append(transition, selection.head, skipped: 0, epoch) }
        case .latest:
            guard let newest = wanted.last else { break }
            self.append(newest, selection.head, skipped: UInt64(wanted.count - 1), epoch)
        }
    }

    /// The wanted changes among those that a query returned.
    init(_ finding: TransitionFinding, _ selection: Selection, in epoch: Epoch) {
        self.examined = finding.examined
        self.hasGap = finding.hasGap
        for transition in finding.transitions
        where selection.only?.contains(where: transition.new.names) ?? true {
            self.append(transition, selection.head, skipped: 0, epoch)
            guard self.lines.count < selection.limit else {
                self.examined = transition.seq
                break
            }
        }
    }

    /// An outline, all of it in one line.
    init(_ outline: TransitionOutline, id: RequestID?, in epoch: Epoch) {
        self.examined = outline.examined
        self.hasGap = outline.hasGap
        guard !outline.entries.isEmpty else { return }
        self.bytes = ServerLine.outline(id: id, outline, in: epoch)
        self.lines = [(outline.examined, self.bytes.count)]
        self.changes = outline.entries.count
    }

    /// No lines yet; changes up to `seq` have been examined.
    init(upTo seq: UInt64) { self.examined = seq }

    /// Adds a change's shared line.
    mutating func append(_ line: [UInt8], seq: UInt64, head: [UInt8], skipped: UInt64 = 0) {
        let start = self.bytes.count
        self.bytes += head
        self.bytes += line.dropFirst(ChangeLine.head.count)
            .dropLast(ChangeLine.tail.utf8CodeUnitCount)
        self.bytes += ChangeLine.tail(skipped: skipped, isReplayed: true)
        self.lines.append((seq, self.bytes.count - start))
        self.changes += 1
    }

    mutating func looked(at seq: UInt64) { self.examined = seq }

    private mutating func append(
        _ transition: RecordedTransition,
        _ head: [UInt8],
        skipped: UInt64,
        _ epoch: Epoch
    ) {
        self.append(transition.line(in: epoch), seq: transition.seq, head: head, skipped: skipped)
    }
}
