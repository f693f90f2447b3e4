import Dispatch
import Glibc
import Logging
import NIOConcurrencyHelpers
import StateMachineCore
import StateMachineProtocol
import Systemd

/// Keeps the service manager's one line about the service current: `authentication(phase: active),
/// seq 42, 3 watches`.
///
/// It writes and sends from a queue of its own, because the manager may be slow to take a line; one
/// line is under way at a time, and of the changes meanwhile the last is reported. None of this
/// runs on an event loop, which may have ended before the manager has taken the last line.
final class StatusReporter: Sendable {
    /// The least time between two lines, in microseconds.
    ///
    /// A tenth of a second: each costs a thread's wake-up here and one in the manager, and people who
    /// look at it do not look more often.
    private static let interval: useconds_t = 100_000

    private let queue = DispatchQueue(label: "statemachine.status")
    private let notifier: ServiceNotifier
    private let logger: Logger
    private let facts: NIOLockedValueBox<Facts>

    struct Facts {
        let schema: Schema
        var newest: Place?
        var watches = 0
        /// Why nothing can be set.
        var trouble: String?
        /// Why the last reload was refused.
        var refusal: String?
        /// Why changes are not written to this host's disk, though they happen.
        var gap: String?
        /// Sentences about links.
        var links: [String] = []
        /// Why the machine makes no moves of its own.
        var suspension: MoveBreaker.Limit?
        var reported: String?
        /// Whether a line is under way, or was a moment ago.
        var isBusy = false
        /// Whether something has changed since the last line was made.
        var hasChanged = false

        /// How many characters of each are shown.
        ///
        /// 128, as in `describe` and `stats`, and 512, for the path that a trouble may be about:
        /// the manager shows one line, and ignores a message longer than a page.
        private static let lengths = (state: 128, trouble: 512)

        var text: String? {
            guard let newest else { return nil }
            let data = self.schema.encoded(newest.value).data
            let state = StateText.text(name: newest.value.name, data: data)
                .cut(to: Self.lengths.state)
            let watches = "\(self.watches) watch\(self.watches == 1 ? "" : "es")"
            let parts = [
                "\(state), seq \(newest.seq), \(watches)",
                self.trouble.map { "changes are refused: \($0.cut(to: Self.lengths.trouble))" },
                self.suspension.map {
                    "automatic transitions are suspended after \($0), until a client sets, sends or updates something"
                },
                self.links.isEmpty
                    ? nil
                    : self.links.joined(separator: "; ").cut(to: Self.lengths.trouble),
                self.refusal.map { "the reload was refused: \($0.cut(to: Self.lengths.trouble))" },
                self.gap.map {
                    "changes are not in this host's history: \($0.cut(to: Self.lengths.trouble))"
                },
            ]
            return parts.compactMap(\.self).joined(separator: "; ")
        }
    }

    init(notifier: ServiceNotifier, logger: Logger, showing schema: Schema) {
        self.notifier = notifier
        self.logger = logger
        self.facts = NIOLockedValueBox(Facts(schema: schema))
    }

    /// Reports the state, at once or after a pause since the last line.
    func changed(to snapshot: Place) { self.change { $0.newest = snapshot } }

    /// Reports how many watches there are.
    func changed(watches: Int) { self.change { $0.watches = watches } }

    /// Reports why nothing can be set, or, with nil, that it can be again.
    func troubled(by why: String?) { self.change { $0.trouble = why } }

    /// Reports why changes are not written to this host's disk, though they happen, or, with nil, that they are again.
    func lacking(because why: String?) { self.change { $0.gap = why } }

    /// Reports what is to be said of links.
    func changed(links: [String]) { self.change { $0.links = links } }

    /// Reports why a reload was refused, or, with nil, that the last one was not.
    func reloadRefused(_ why: String?) { self.change { $0.refusal = why } }

    /// Reports that the machine makes no moves of its own, or, with nil, that it does again.
    func suspended(_ suspension: MoveBreaker.Limit?) { self.change { $0.suspension = suspension } }

    private func change(_ body: (inout Facts) -> Void) {
        let isToReport = self.facts.withLockedValue { facts in
            body(&facts)
            facts.hasChanged = true
            defer { facts.isBusy = true }
            return !facts.isBusy
        }
        if isToReport { self.queue.async { self.report() } }
    }

    /// Reports until a pause has passed without a change.
    ///
    /// The queue's thread sleeps meanwhile: Dispatch's timers take a descriptor when the first one is
    /// set, and where there is none left they end the process.
    private func report() {
        repeat {
            let facts = self.facts.withLockedValue { facts in
                facts.hasChanged = false
                return facts
            }
            if let text = facts.text, text != facts.reported {
                self.send(text)
                self.facts.withLockedValue { $0.reported = text }
            }
            usleep(Self.interval)
        } while self.facts.withLockedValue { facts in
            facts.isBusy = facts.hasChanged
            return facts.isBusy
        }
    }

    private func send(_ text: String) {
        do {
            try self.notifier.status(text)
        } catch {
            self.logger.debug(
                "the status could not be reported, continuing",
                metadata: ["error": "\(error)"]
            )
        }
    }
}

extension String {
    /// Its beginning, made printable for people.
    fileprivate func cut(to count: Int) -> String {
        self.excerpt(count).printable.excerpt(count)
    }
}
