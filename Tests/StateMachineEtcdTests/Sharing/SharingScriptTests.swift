#if Cluster
import Foundation
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineEtcd

/// What a shared machine, and what it consists of, make of events, as text that can be read without Swift.
///
/// A line of a script is an event, and the lines below it that begin with spaces are what follows from it; lines with `#` are comments. A
/// file's name begins with what it is about; each of the players lists its events. Whoever means to change what follows runs
/// `WRITE_SHARING_SCRIPTS=1 swift test --filter SharingScriptTests`, and shows the difference in its commit.
@Suite struct SharingScriptTests {
    private static let directory =
        "\(#filePath.split(separator: "/").dropLast(2).map { "/\($0)" }.joined())/Recorded/Sharing"

    static let scripts = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
        .filter { $0.hasSuffix(".txt") }
        .sorted()

    @Test(arguments: scripts) func whatFollowsIsAsWritten(_ name: String) throws {
        let script = try RecordedText(name, in: Self.directory)
        var player = try #require(Self.player(of: name))
        var lines: [String] = []
        for line in script.text.split(separator: "\n", omittingEmptySubsequences: false)
        where !line.hasPrefix(" ") {
            lines.append(String(line))
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            lines += player.play(SharingEvent(line)).map { "    \($0)" }
        }
        try script.expect(lines.joined(separator: "\n"), rewritingIf: "WRITE_SHARING_SCRIPTS")
    }

    @Test func thereAreScriptsOfEachKind() {
        #expect(Set(Self.scripts.compactMap { $0.split(separator: "-").first }).count == 6)
    }

    private static func player(of name: String) -> (any SharingPlayer)? {
        switch name.split(separator: "-").first {
        case "fence": FencePlayer()
        case "freshness": FreshnessPlayer()
        case "restoration": RestorationPlayer()
        case "tickets": TicketPlayer()
        case "machine": SharedMachinePlayer()
        case "session": SessionPlayer()
        default: nil
        }
    }
}

/// Plays one kind of script.
protocol SharingPlayer {
    /// What follows from it.
    mutating func play(_ event: SharingEvent) -> [String]
}

/// An event of a script: words, some of which may be `key=value`.
struct SharingEvent {
    let name: String
    let words: [String]
    private let settings: [String: String]

    init(_ line: some StringProtocol) {
        var words = line.split(separator: " ").map { String($0) }
        self.name = words.isEmpty ? "" : words.removeFirst()
        self.words = words.filter { !$0.contains("=") }
        let pairs = words.compactMap { word in
            word.firstIndex(of: "=").map {
                (String(word[..<$0]), String(word[word.index(after: $0)...]))
            }
        }
        self.settings = [String: String](pairs) { $1 }
    }

    subscript(_ place: Int) -> String {
        self.words.indices.contains(place) ? self.words[place] : ""
    }
    subscript(_ key: String) -> String? { self.settings[key] }
    func number<Number: FixedWidthInteger>(_ key: String, or usual: Number = 0) -> Number {
        self[key].flatMap { Number($0) } ?? usual
    }
    func number<Number: FixedWidthInteger>(_ place: Int) -> Number { Number(self[place]) ?? 0 }
}

/// Plays a fence.
///
///     sent N                a transaction goes out that compares the head with revision N
///     settled | lost | full
///     seen ours|other head=N
///     fencing | fenced | fence-failed
private struct FencePlayer: SharingPlayer {
    private var fence = Fence()

    mutating func play(_ event: SharingEvent) -> [String] {
        let happened: Fence.Event
        switch event.name {
        case "sent": happened = .sent(headRevision: event.number(0))
        case "settled": happened = .settled
        case "lost": happened = .lost
        case "full": happened = .lostAtLimit
        case "seen":
            happened = .seen(isOurs: event[0] == "ours", headRevision: event.number("head"))
        case "fencing": happened = .fencing
        case "fenced": happened = .fenced
        case "fence-failed": happened = .fenceFailed
        default: return ["there is no event \(event.name)"]
        }
        let order = self.fence.thisHappened(happened).map { ["\($0)"] } ?? []
        return order + [
            self.fence.isClear ? "clear" : self.fence.isUnsure ? "unsure" : "awaiting the answer"
        ]
    }
}

/// Plays freshness.
///
///     seen N seq=S own=S    read N has shown that the head is at seq S, and the host is there
///     reached S | due N | trouble REASON | over REASON | begin-again
private struct FreshnessPlayer: SharingPlayer {
    private var freshness = Freshness()

    mutating func play(_ event: SharingEvent) -> [String] {
        let reason = Freshness.Reason(rawValue: event[0]) ?? .engine
        let happened: Freshness.Event
        switch event.name {
        case "seen":
            happened = .seen(
                number: event.number(0),
                seq: event.number("seq"),
                own: event.number("own")
            )
        case "reached": happened = .reached(event.number(0))
        case "due": happened = .due(number: event.number(0))
        case "trouble": happened = .trouble(reason, isThere: true)
        case "over": happened = .trouble(reason, isThere: false)
        case "begin-again": happened = .beganAgain
        default: return ["there is no event \(event.name)"]
        }
        switch self.freshness.thisHappened(happened) {
        case .up?: return ["up"]
        case .down(let reason)?: return ["down: \(reason.rawValue)"]
        case nil: return []
        }
    }
}

/// Plays a restoration.
///
///     know EPOCH seq=S revision=R [block=FIRST:DIGEST] [earlier=EPOCH]
///     read EPOCH seq=S revision=R [block=FIRST:DIGEST] [kept=N]
private struct RestorationPlayer: SharingPlayer {
    private var memory: Restoration.Memory?

    mutating func play(_ event: SharingEvent) -> [String] {
        guard let epoch = Epoch(event[0]) else { return ["\(event[0]) is no epoch"] }
        let parts = (event["block"] ?? "").split(separator: ":").compactMap { UInt64($0) }
        let block = parts.count == 2 ? Restoration.Mark(first: parts[0], digest: parts[1]) : nil
        let (seq, revision): (UInt64, Int64) = (event.number("seq"), event.number("revision"))
        guard event.name == "read" else {
            let earlier = event["earlier"].flatMap { Epoch($0) }.map { [$0] } ?? []
            self.memory = .init(epoch, after: earlier, seq: seq, revision: revision, block: block)
            self.memory?.head = event.number("head")
            return []
        }
        guard let memory else { return ["nothing is known"] }
        let seen = Restoration.Seen(
            revision: revision,
            head: event.number("head", or: revision),
            epoch,
            seq: seq,
            block: block,
            kept: event.number("kept", or: 1000)
        )
        switch Restoration.judge(seen, since: memory) {
        case .same: return ["the same"]
        case .elsewhere: return ["begin there"]
        case .restored(let why): return ["restored: \(why)"]
        }
    }
}

/// Plays the tickets of host a.
///
///     lose | confirm | win at=R [putting=a-1] | put a-0 at=R | remove b-0 at=R
///     seen b-0 created=R at=R       the watch has brought it; without `created` it is gone
private struct TicketPlayer: SharingPlayer {
    private var queue = TicketQueue(host: "a")

    mutating func play(_ event: SharingEvent) -> [String] {
        func ticket(_ text: String) -> SharedKeys.Ticket {
            .init(String(text.dropLast(2)), text.hasSuffix("1") ? 1 : 0)
        }
        let revision: Int64 = event.number("at")
        switch event.name {
        case "lose": self.queue.lose()
        case "confirm": self.queue.confirm()
        case "win": self.queue.win(at: revision, putting: event["putting"].map(ticket))
        case "put": self.queue.put(ticket(event[0]), at: revision)
        case "remove": self.queue.remove(ticket(event[0]), at: revision)
        case "seen":
            self.queue.seen(
                ticket(event[0]),
                created: event["created"].flatMap { Int64($0) },
                at: revision
            )
        default: return ["there is no event \(event.name)"]
        }
        func text(_ ticket: SharedKeys.Ticket) -> String { "\(ticket.host)-\(ticket.number)" }
        var state = ["next is \(self.queue.head.map { text($0.ticket) } ?? "whoever comes")"]
        if self.queue.needsTicket { state.append("put a ticket first") }
        if let swap = self.queue.swap { state.append("swap for \(text(swap))") }
        return [state.joined(separator: ", ")]
    }
}

/// Plays the shared machine of host a, with an engine.
///
///     connected | disconnected | session N|none
///     propose STATE …               a group of changes; without a state, asks whether all is as it was
///     renew S | other-renews S      the times of the stay begin anew at second S
///     hold N | release N            a group with a hold
///     lasting N                     a group with a hold that outlives the session
///     answer N                      the engine does what was sent as N, and answers
///     lose N                        it does that, and the answer is lost
///     drop N                        it does not, and there is no answer
///     apply N                       it does what was dropped, late
///     refuse N KIND                 noLeader, permission, tooLarge, leaseGone, full
///     other STATE                   another host commits
///     other-holds N | other-releases N | other-ticket 0|1
///     own-goes N                    the engine loses a hold of this host
///     takes-over N                  a hold of an earlier life is of the next session
///     puts KEY TEXT | deletes KEY   somebody changes a value of the machine's by hand
///     restore                       a snapshot is put back, as it was at `snapshot`
///     snapshot | compact
///     watch                         the watch brings what has happened since
///     watch-ends
///     ask N                         whether the host is where a quorum is
///     due check|pause|orphan|group|stale
private struct SharedMachinePlayer: SharingPlayer {
    private let keys = SharedKeys(machine: "lamp")
    private var engine = ModelEngine()
    private var snapshot = ModelEngine()
    private var machine: SharedMachine
    private var generator = SeededGenerator(seed: 1)
    private var sent: [UInt64: TransactionRequest] = [:]
    private var watch: (number: UInt64, watch: EngineWatch, next: Int64)?
    private var groups: UInt64 = 0
    private var looks: UInt64 = 0
    private var attempts: UInt64 = 0

    init() {
        let beginning = SharedChange("off", [:], at: WallTime(microseconds: 0), stay: 0)
        var settings = SharedMachine.Settings(self.keys, host: "a", beginning: beginning, form: "f")
        (settings.keepChanges, settings.largestGroup, settings.pruneEvery) = (4, 2, 2)
        self.machine = SharedMachine(settings)
        for lease in [7, 8, 9] as [Int64] { self.engine.grant(lease, until: .max) }
    }

    mutating func play(_ event: SharingEvent) -> [String] {
        let number: UInt64 = event.number(0)
        switch event.name {
        case "connected": return self.tell(.connected)
        case "disconnected": return self.tell(.disconnected)
        case "session": return self.tell(.session(event[0] == "none" ? nil : event.number(0)))
        case "propose": return self.propose(event.words, voters: [:])
        case "renew":
            guard let head = self.head else { return ["there is no head"] }
            return self.propose([], renewing: Self.renewed(head, number), voters: [:])
        case "other-renews":
            guard var head = self.head else { return ["there is no head"] }
            self.attempts += 1
            head.last = Self.renewed(head, number)
            head.author = Block.Author("b", session: 8, attempt: self.attempts)
            self.change([.put(PutRequest(self.keys.head, head.bytes))])
        case "hold": return self.propose([], voters: [number: Array("{}".utf8)])
        case "lasting":
            return self.propose([], voters: [number: Array("{}".utf8)], lasting: [number])
        case "release": return self.propose([], voters: [number: nil])
        case "ask": return self.tell(.asked(number))
        case "answer":
            guard let request = self.sent.removeValue(forKey: number) else {
                return ["nothing was sent as \(number)"]
            }
            return self.tell(.ended(number, self.engine.perform(request)))
        case "lose":
            if let request = self.sent[number] { _ = self.engine.perform(request) }
            return self.tell(.ended(number, .unknown(.lost("lost"))))
        case "drop": return self.tell(.ended(number, .unknown(.lost("lost"))))
        case "apply":
            if let request = self.sent[number] { _ = self.engine.perform(request) }
            return []
        case "refuse": return self.tell(.ended(number, Self.refusal(event[1])))
        case "other": self.commit(event.words)
        case "other-holds":
            self.change([.put(PutRequest(self.keys.voter(.init("b", number)), Array("{}".utf8)))])
        case "other-releases":
            self.change([.delete(DeleteRequest(KeyRange(self.keys.voter(.init("b", number)))))])
        case "own-goes":
            self.change([.delete(DeleteRequest(KeyRange(self.keys.voter(.init("a", number)))))])
        case "takes-over": return self.tell(.tookOver([number]))
        case "other-ticket":
            self.change([
                .put(PutRequest(self.keys.ticket(.init("b", event.number(0))), Array("{}".utf8)))
            ])
        case "puts":
            let text = event.words.dropFirst().joined(separator: " ")
            self.change([.put(PutRequest(self.keys.prefix + event[0], Array(text.utf8)))])
        case "deletes":
            self.change([.delete(DeleteRequest(KeyRange(self.keys.prefix + event[0])))])
        case "snapshot": self.snapshot = self.engine
        case "restore": self.engine = self.snapshot
        case "compact": self.engine.compact(to: self.engine.revision)
        case "watch": return self.pump()
        case "watch-ends": return self.watched(.ended(.broken("broken")))
        case "due":
            switch event[0] {
            case "check": return self.tell(.due(.check))
            case "pause": return self.tell(.due(.pause))
            case "orphan": return self.tell(.due(.orphan))
            case "group": return self.tell(.due(.group(self.groups)))
            default: return self.tell(.due(.stale(look: self.looks)))
            }
        default: return ["there is no event \(event.name)"]
        }
        return []
    }

    private static func refusal(_ word: String) -> Outcome<TransactionRequest.Answer> {
        let kind: StateMachineEtcd.Refusal.Kind
        switch word {
        case "full": return .unknown(.full)
        case "permission": kind = .permission
        case "tooLarge": kind = .tooLarge
        case "leaseGone": kind = .leaseGone
        default: kind = .noLeader
        }
        return .refused(.init(kind: kind, description: word))
    }

    private mutating func propose(
        _ states: [String],
        renewing renewed: SharedChange? = nil,
        voters: [UInt64: [UInt8]?],
        lasting: Set<UInt64> = []
    ) -> [String] {
        self.groups += 1
        let changes = states.map { SharedChange($0, [:], at: WallTime(microseconds: 0), stay: 0) }
        return self.tell(
            .proposed(
                SharedMachine.Group(
                    changes,
                    renewing: renewed,
                    voters: voters,
                    lasting: lasting,
                    news: self.machine.news
                )
            )
        )
    }

    /// The engine's.
    private var head: Head? {
        self.engine.entries(KeyRange(self.keys.head)).first.flatMap {
            try? Head(reading: $0.value)
        }
    }

    private static func renewed(_ head: Head, _ second: UInt64) -> SharedChange {
        let since = WallTime(microseconds: Int64(second) * 1_000_000)
        return head.last.renewed(StayTimes(of: head.last.stay, since: since))
    }

    private mutating func change(_ operations: [TransactionRequest.Operation]) {
        _ = self.engine.perform(TransactionRequest(if: [], then: operations))
    }

    private mutating func commit(_ states: [String]) {
        guard var head = self.head else { return }
        self.attempts += 1
        let changes = states.map { SharedChange($0, [:], at: WallTime(microseconds: 0), stay: 0) }
        let block = Block(
            first: head.seq + 1,
            by: .init("b", session: 9, attempt: self.attempts),
            changes
        )
        guard let last = changes.last else { return }
        (head.seq, head.block, head.last) = (block.last, head.block + 1, last)
        let put = PutRequest(self.keys.block(head.epoch, first: block.first), block.bytes)
        self.change([.put(PutRequest(self.keys.head, head.bytes)), .put(put)])
    }

    private mutating func pump() -> [String] {
        guard let watch else { return ["there is no watch"] }
        let header = ResponseHeader(revision: self.engine.revision)
        guard watch.next >= self.engine.oldest else {
            return self.watched(.came(WatchRequest.Answer(header, compacted: self.engine.oldest)))
        }
        let events = self.engine.steps.filter { $0.revision >= watch.next }.flatMap(\.events)
        self.watch?.next = self.engine.revision + 1
        return events.isEmpty
            ? ["nothing has happened"] : self.watched(.came(WatchRequest.Answer(header, events)))
    }

    private mutating func watched(_ event: EngineWatch.Event) -> [String] {
        guard let number = self.watch?.number, let news = self.watch?.watch.thisHappened(event)
        else { return [] }
        return self.tell(.watched(number, news))
    }

    private mutating func tell(_ event: SharedMachine.Event) -> [String] {
        let actions = self.machine.thisHappened(event, using: &self.generator)
        var lines: [String] = []
        for action in actions {
            switch action {
            case .send(let number, let request):
                self.sent[number] = request
                if request.comparisons.isEmpty { self.looks = number }
                lines.append("send \(number): \(self.text(request))")
            case .watch(let number, let start, let version):
                var watch = EngineWatch(
                    self.keys.all,
                    from: start,
                    counting: self.keys.head,
                    after: version
                )
                _ = watch.thisHappened(
                    .came(WatchRequest.Answer(ResponseHeader(revision: start), isCreated: true))
                )
                self.watch = (number, watch, start)
                lines.append("watch from \(start)")
            case .reconnect(let why): lines.append("reconnect: \(why)")
            case .answer(.committed): lines.append("answer: committed")
            case .answer(.failed(let why)): lines.append("answer: failed, \(why)")
            case .answer(.unsure(let why)): lines.append("answer: unsure, \(why)")
            case .answer(.overtaken(let progress)):
                lines.append("answer: overtaken by \(Self.text(progress))")
            case .adopt(let progress): lines.append("adopt \(Self.text(progress))")
            case .place(let head, let arrival):
                lines.append("at \(head.seq) \(head.last.state): \(arrival)")
            case .voters(let put, let gone):
                let names =
                    put.keys.map { "\($0.host)/\($0.number)" }
                    + gone.map { "no \($0.host)/\($0.number)" }
                lines.append("voters \(names.sorted().joined(separator: ", "))")
            case .fresh(let id): lines.append("fresh \(id)")
            case .notFresh(let id, let reason): lines.append("not fresh \(id): \(reason.rawValue)")
            case .note(.damaged(let damage)):
                lines.append(damage.map { "note: \($0)" } ?? "note: nothing is damaged")
            case .note(.lacksSettings): lines.append("note: there are no settings")
            case .note(.lostChanges(let why)): lines.append("note: changes are lost, \(why)")
            case .tell(.up): lines.append("up")
            case .tell(.down(let reason)): lines.append("down: \(reason.rawValue)")
            case .gone(let lease): lines.append("session \(lease) is gone")
            // Pauses are drawn; which alarms there are is seen from what follows when they go off.
            case .arm, .disarm, .reached: break
            }
        }
        return lines
    }

    private static func text(_ progress: SharedMachine.Progress) -> String {
        let blocks = progress.blocks.map {
            "\($0.first) \($0.changes.map(\.state).joined(separator: " ")) of \($0.author.host)"
        }
        let renewed = progress.renewed.map {
            ["\($0.state) since second \($0.times.entered.microseconds / 1_000_000)"]
        }
        return progress.isEmpty ? "nothing" : (blocks + (renewed ?? [])).joined(separator: ", ")
    }

    private func text(_ request: TransactionRequest) -> String {
        let changes = request.success.compactMap { operation -> String? in
            func name(_ key: some Sequence<UInt8>) -> String {
                let words = String(decoding: Array(key), as: UTF8.self).split(separator: "/")
                    .dropFirst(3)
                return words.first == "log"
                    ? "log \(UInt64(words.last ?? "", radix: 16) ?? 0)"
                    : words.joined(separator: "/")
            }
            return switch operation {
            case .range: nil
            case .put(let put): "put \(name(put.key.utf8))"
            case .delete(let delete):
                delete.keys.end.isEmpty
                    ? "delete \(name(delete.keys.first))" : "delete up to \(name(delete.keys.end))"
            }
        }
        guard !changes.isEmpty else { return "look" }
        let conditions = request.comparisons.map { comparison -> String in
            let name = String(decoding: comparison.keys.first, as: UTF8.self).split(separator: "/")
                .dropFirst(3).joined(separator: "/")
            let sign =
                switch comparison.relation {
                case .equal: "="
                case .greater: ">"
                case .less: "<"
                case .notEqual: "!="
                }
            return switch comparison.subject {
            case .version(let number): "version(\(name)) \(sign) \(number)"
            case .createRevision(let number): "create(\(name)) \(sign) \(number)"
            case .modRevision(let number): "mod(\(name)) \(sign) \(number)"
            case .value, .lease: "?"
            }
        }
        return "if \(conditions.joined(separator: ", ")): \(changes.joined(separator: ", "))"
    }
}
#endif
