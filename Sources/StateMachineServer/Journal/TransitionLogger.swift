import Dispatch
package import Logging
import NIOConcurrencyHelpers
import NIOCore
import ServiceLog
import StateMachineCore
package import StateMachineProtocol

/// Logs transitions: one line each while they are few, one line for the rest of a busy second.
///
/// It gets them once everybody has been written to, so it costs a set nothing. It takes the bytes
/// that clients are sent, and makes them into words on a queue of its own, since whoever reads the
/// log may be slow. The queue's thread waits for the end of a second that has a rest, and nothing
/// waits otherwise: a daemon at rest has no timer.
final class TransitionLogger: Sendable {
    /// How long the daemon's end waits for the log to take what there is.
    ///
    /// 1 s: as long as for the service manager, for the same reason. Picked.
    private static let timeout = DispatchTimeInterval.seconds(1)

    private let queue = DispatchQueue(label: "statemachine.log")
    private let logger: Logger
    private let schema: Schema
    private let pace = NIOLockedValueBox(TransitionPace())
    /// The same of changes that were forced, which are logged besides.
    private let forcedPace = NIOLockedValueBox(TransitionPace())
    /// Signalled when nothing waits for a second's end any more.
    private let ending = DispatchSemaphore(value: 0)

    init(_ logger: Logger, showing schema: Schema) {
        self.logger = logger
        self.schema = schema
    }

    /// Logs the transitions after `seq`.
    ///
    /// - Parameters:
    ///   - ring: holds them, unless they were too long.
    ///   - seq: the newest one that has been logged.
    ///   - last: the newest of them.
    ///   - perSecond: how many a second are logged one by one.
    func log(_ ring: borrowing ChangeRing, after seq: UInt64, through last: Place, perSecond: Int) {
        let isToBeHad = ring.reaches(back: seq)
        let action = self.pace.withLockedValue { pace in
            pace.entered(
                seq + 1...last.seq,
                last,
                isToBeHad: isToBeHad,
                perSecond: perSecond,
                now: .now()
            )
        }
        switch action {
        case .wait: break
        case .log(let count): self.write(ring.lines(after: seq, count: count))
        case .logAndSumUp(let count):
            self.write(ring.lines(after: seq, count: count))
            self.queue.async {
                self.sumUp(self.pace, as: .info, CataloguedMessage.transitions.rawValue)
            }
        }
    }

    /// Logs whom a change has passed over, at least one a second by itself.
    func log(forced change: Change, by origin: Origin, perSecond: Int) {
        let passed = origin.passedOver
        guard !passed.isEmpty else { return }
        let action = self.forcedPace.withLockedValue {
            $0.entered(
                change.seq...change.seq,
                change.place,
                perSecond: max(perSecond, 1),
                now: .now()
            )
        }
        switch action {
        case .wait: break
        case .logAndSumUp:
            self.queue.async {
                self.sumUp(self.forcedPace, as: .notice, "further changes were forced")
            }
        case .log:
            let by = origin.peer.map { "uid \($0.uid) pid \($0.pid)" } ?? "the daemon"
            self.queue.async {
                self.logger.notice(
                    "a change was forced, passing over holds and guards",
                    metadata: [
                        "seq": "\(change.seq)", "by": "\(by)",
                        "passedOver": "\(passed.joined(separator: ", "))",
                    ]
                )
                self.forcedPace.withLockedValue { $0.wrote(1) }
            }
        }
    }

    /// Waits until everything is in the log, or the log has not taken it for a while.
    func finish() async {
        self.ending.signal()
        let (written, isWritten) = AsyncStream.makeStream(of: Never.self)
        self.queue.async { isWritten.finish() }
        DispatchQueue(label: "statemachine.timeout").asyncAfter(
            deadline: .now() + Self.timeout
        ) { isWritten.finish() }
        for await _ in written {}
    }

    private func write(_ lines: [[UInt8]]) {
        guard !lines.isEmpty else { return }
        self.queue.async {
            for line in lines {
                self.logger.log(change: line)
            }
            self.pace.withLockedValue { $0.wrote(lines.count) }
        }
    }

    /// Logs the rest when its second has ended, or at once when the daemon ends.
    private func sumUp(
        _ pace: NIOLockedValueBox<TransitionPace>,
        as level: Logger.Level,
        _ message: String
    ) {
        guard let dueAt = pace.withLockedValue({ $0.dueAt }) else { return }
        let wait = max(0, (dueAt - .now()).nanoseconds)
        if self.ending.wait(timeout: .now() + .nanoseconds(Int(wait))) == .success {
            // Pass the signal on to the next one.
            self.ending.signal()
        }
        guard let rest = pace.withLockedValue({ $0.takeRest() }) else { return }
        self.logger.log(
            level: level,
            "\(message)",
            metadata: [
                "count": "\(rest.count)",
                "first": "\(rest.first)",
                "seq": "\(rest.last.seq)",
                "state": "\(self.schema.loggedText(of: rest.last.value))",
            ]
        )
    }

    /// What a change line says, as metadata.
    fileprivate static func metadata(of line: [UInt8]) -> Logger.Metadata {
        let text = String(decoding: line, as: UTF8.self)
        guard let change = JSONValue(parsing: text) else { return ["line": "\(text)"] }
        var metadata: Logger.Metadata = [:]
        if let seq = change["seq"] { metadata["seq"] = "\([seq].listed)" }
        metadata["state"] = Self.state(of: change)
        metadata["from"] = change["from"].flatMap { Self.state(of: $0) }
        if let by = change["by"], let uid = by["uid"], let pid = by["pid"] {
            metadata["by"] = "uid \([uid].listed) pid \([pid].listed)"
            // As JSON, as below.
            metadata["host"] = by["host"].map { "\([$0].listed)" }
            metadata["comm"] = by["comm"].map { "\([$0].listed)" }
            metadata["unit"] = by["unit"].map { "\([$0].listed)" }
        }
        // As JSON: a client's words must not be taken for a line of the log.
        if let cause = change["cause"] { metadata["cause"] = "\([cause].listed)" }
        if change["forced"]?.bool == true { metadata["forced"] = "true" }
        return metadata
    }

    private static func state(of value: JSONValue) -> Logger.MetadataValue? {
        guard case .string(let name)? = value["state"], let data = value["data"] else { return nil }
        return "\(StateText.logged(name: name, data: data))"
    }
}

extension StateText {
    /// How many characters of a state are logged.
    ///
    /// 1,024: a state may have 64 KiB, and a change has two. The whole is in the history. Not tuned.
    private static let logged = 1024

    fileprivate static func logged(name: String, data: JSONValue) -> String {
        self.text(name: name, data: data).excerpt(self.logged)
    }
}

extension Schema {
    /// A state for the log.
    func loggedText(of value: Value) -> String {
        StateText.logged(name: value.name, data: self.encoded(value).data)
    }
}

extension Logger {
    /// Logs a transition that was made before anybody could be told about it.
    package func log(_ transition: RecordedTransition) {
        // The log does not name the epoch.
        self.log(change: transition.line(in: .random()))
    }

    fileprivate func log(change line: [UInt8]) {
        self.info(
            "\(CataloguedMessage.transition.rawValue)",
            metadata: TransitionLogger.metadata(of: line)
        )
    }
}
