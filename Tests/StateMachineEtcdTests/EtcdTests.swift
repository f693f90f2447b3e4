#if Cluster
import Glibc
import NIOCore
import StateMachineCore
import TestSupport
import Testing

@testable import StateMachineEtcd

/// How often something happened.
private final class Counter: Sendable {
    private let number = Lock(0)
    var value: Int { self.number.withLock { $0 } }
    func count() { self.number.withLock { $0 += 1 } }
}

/// The client and a real etcd.
@Suite(
    .bounded,
    .enabled(
        if: EtcdProcess.isInstalled,
        "etcd is not installed: apt install etcd-server etcd-client"
    )
)
struct EtcdTests {
    @Test func everyRequestIsAnswered() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                let first = try await connection.answer(PutRequest("/a/1", "one".octets))
                let lease = try await connection.answer(LeaseGrantRequest(seconds: 60))
                #expect(lease.seconds == 60 && lease.id != 0)
                _ = try await connection.answer(PutRequest("/a/2", "two".octets, lease: lease.id))
                // Its value stays, and its lease goes.
                let third = try await connection.answer(PutRequest("/a/2", nil))
                #expect(third.header.revision == first.header.revision + 2)

                let range = try await connection.answer(
                    RangeRequest(KeyRange(prefix: "/a/"), limit: 1)
                )
                #expect(
                    range.hasMore && range.count == 2
                        && range.entries.map(\.value) == ["one".octets]
                )
                let all = try await connection.answer(RangeRequest(KeyRange(prefix: "/a/")))
                #expect(
                    all.entries.map(\.version) == [1, 2] && all.entries.map(\.lease) == [0, 0]
                )
                #expect(all.entries.last?.value == "two".octets)
                let earlier = try await connection.answer(
                    RangeRequest(KeyRange("/a/2"), at: third.header.revision - 1)
                )
                #expect(earlier.entries.map(\.lease) == [lease.id])

                let kept = try await connection.answer(LeaseKeepAliveRequest(lease.id))
                #expect(kept.seconds == 60 && kept.id == lease.id)
                _ = try await connection.answer(LeaseRevokeRequest(lease.id))
                #expect(try await connection.answer(LeaseKeepAliveRequest(lease.id)).seconds == 0)

                let gone = try await connection.answer(DeleteRequest(KeyRange(prefix: "/a/")))
                #expect(gone.deleted == 2)
                let status = try await connection.answer(StatusRequest())
                #expect(status.version.hasPrefix("3.") && status.leader == status.header.member)
            }
        }
    }

    // MARK: Transactions

    private func put(
        _ connection: EtcdConnection,
        _ key: String,
        _ value: String
    ) async throws -> Int64 {
        try await connection.answer(PutRequest(key, value.octets)).header.revision
    }

    @Test func aTransactionIsDoneAsAWholeOrNotAtAll() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                let head = KeyRange("/m/head")
                let revision = try await self.put(connection, "/m/head", "1")
                let group = TransactionRequest(
                    if: [Comparison(head, .equal, .modRevision(revision))],
                    then: [
                        .put(PutRequest("/m/head", "2".octets)),
                        .put(PutRequest("/m/log/2", "{}".octets)),
                    ],
                    else: [
                        .range(RangeRequest(head)),
                        .range(RangeRequest(KeyRange(from: "/m/log/", upTo: "/m/log0"), limit: 8)),
                    ]
                )
                let first = try await connection.answer(group)
                #expect(first.succeeded && first.header.revision == revision + 1)
                // Another was first.
                let second = try await connection.answer(group)
                guard !second.succeeded, case .range(let now)? = second.results.first,
                    case .range(let log)? = second.results.last
                else {
                    Issue.record("\(second)")
                    return
                }
                #expect(
                    now.entries.map(\.value) == ["2".octets]
                        && log.entries.map(\.key) == ["/m/log/2".octets]
                )
                // A fence: its value stays, and what compares the old revision can no longer be done.
                let fence = try await connection.answer(
                    TransactionRequest(
                        if: [Comparison(head, .equal, .modRevision(revision + 1))],
                        then: [.put(PutRequest("/m/head", nil))]
                    )
                )
                #expect(fence.succeeded)
                let fenced = try await connection.answer(RangeRequest(head))
                #expect(
                    fenced.entries.map(\.value) == ["2".octets]
                        && fenced.entries.map(\.modRevision) == [revision + 2]
                )
            }
        }
    }

    /// What a group compares: no voter that has not been seen, no older ticket.
    @Test func aRangeIsComparedKeyByKey() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                func holds(
                    _ relation: Comparison.Relation,
                    _ subject: Comparison.Subject
                ) async throws -> Bool {
                    let comparison = Comparison(KeyRange(prefix: "/v/"), relation, subject)
                    return try await connection.answer(
                        TransactionRequest(if: [comparison], then: [])
                    ).succeeded
                }
                #expect(try await holds(.less, .modRevision(1)))
                #expect(try await holds(.equal, .createRevision(0)))
                #expect(try await !holds(.notEqual, .value([])))
                let first = try await self.put(connection, "/v/1", "a")
                let second = try await self.put(connection, "/v/2", "a")
                #expect(try await !holds(.less, .modRevision(second)))
                #expect(try await holds(.less, .modRevision(second + 1)))
                #expect(try await holds(.greater, .createRevision(first - 1)))
                #expect(try await !holds(.greater, .createRevision(first)))
                #expect(try await holds(.equal, .value("a".octets)))
                #expect(try await holds(.equal, .version(1)))
                #expect(try await holds(.equal, .lease(0)))
                #expect(try await !holds(.equal, .createRevision(0)))
            }
        }
    }

    // MARK: Refusals

    @Test func whatIsTooLargeIsSurelyNotDone() async throws {
        try await EtcdProcess.run(arguments: ["--max-txn-ops", "4"]) { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                for size in [1_600_000, 3 << 20] {
                    let outcome = await connection.call(
                        PutRequest("/a", [UInt8](repeating: 1, count: size))
                    )
                    #expect(outcome.refusal?.kind == .tooLarge, "\(size): \(outcome)")
                }
                let puts = (0..<5).map {
                    TransactionRequest.Operation.put(PutRequest("/\($0)", []))
                }
                #expect(
                    await connection.call(TransactionRequest(if: [], then: puts)).refusal?.kind
                        == .tooLarge
                )
                let twice = [puts[0], puts[0]]
                #expect(
                    await connection.call(TransactionRequest(if: [], then: twice)).refusal?.kind
                        == .invalid
                )
                #expect(await connection.call(PutRequest("", [])).refusal?.kind == .invalid)
                #expect(await connection.call(PutRequest("/none", nil)).refusal?.kind == .invalid)
                #expect(
                    await connection.call(PutRequest("/a", [], lease: 7)).refusal?.kind
                        == .leaseGone
                )
                #expect(await connection.call(LeaseRevokeRequest(7)).refusal?.kind == .leaseGone)
                #expect(
                    await connection.call(RangeRequest(KeyRange("/a"), at: 99)).refusal?.kind
                        == .invalid
                )
                let there = try await connection.answer(
                    RangeRequest(KeyRange(from: "/", upTo: "0"))
                )
                #expect(there.count == 0)
            }
        }
    }

    /// One of three members, alone: it refuses at once, and its watches end.
    @Test func withoutALeaderNothingIsDone() async throws {
        try await withTemporaryDirectory { directory in
            let members = try await EtcdProcess.cluster(in: directory)
            try await EtcdConnection.with(members[0].endpoint) { connection in
                _ = try await self.put(connection, "/a", "1")
                var news = connection.news(of: EngineWatch(KeyRange("/a"), from: 1))
                guard case .began? = await news.next(), case .changed? = await news.next() else {
                    Issue.record("no watch")
                    return
                }
                for member in members.dropFirst() { try await member.process.end(by: SIGKILL) }
                // Its leader is gone when the others are, or as soon as it misses them.
                guard case .ended(.refused(let refusal))? = await news.next() else {
                    Issue.record("it goes on")
                    return
                }
                #expect(refusal.kind == .noLeader)
                #expect(await connection.call(PutRequest("/a", [])).refusal?.kind == .noLeader)
                #expect(
                    await connection.call(RangeRequest(KeyRange("/a"))).refusal?.kind == .noLeader
                )
            }
            try await members[0].process.end(by: SIGKILL)
        }
    }

    /// etcd looks at its space when something is proposed, and again when it is applied, and does then what it says it has no space for:
    /// what several send at once is refused in both ways.
    @Test func aFullEngineMayHaveDoneWhatItRefuses() async throws {
        try await EtcdProcess.run(arguments: ["--quota-backend-bytes", "\(8 << 20)"]) { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                let value = [UInt8](repeating: 1, count: 100_000)
                // Each puts one key after the other, until one is refused.
                let refused = await withTaskGroup(of: (String, Outcome<Done>).self) { group in
                    for writer in 0..<32 {
                        group.addTask {
                            var number = 0
                            while true {
                                number += 1
                                let key = "/\(writer)/\(number)"
                                let outcome = await connection.call(PutRequest(key, value))
                                if outcome.answer == nil { return (key, outcome) }
                            }
                        }
                    }
                    return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                }
                let there = try await connection.answer(
                    RangeRequest(KeyRange(from: "/", upTo: "0"), keysOnly: true)
                )
                let keys = Set(there.entries.map(\.key))
                for (key, outcome) in refused {
                    #expect(
                        outcome.doubt == .full,
                        "\(key) is \(keys.contains(key.octets) ? "there" : "not there"): \(outcome)"
                    )
                }
                // That it is full is seen, and reading goes on.
                let status = try await connection.answer(StatusRequest())
                #expect(status.errors.contains { $0.contains("NOSPACE") }, "\(status.errors)")
            }
        }
    }

    // MARK: Deadlines

    @Test func aStoppedMemberLeavesItsCallsUnknown() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                _ = try await self.put(connection, "/a", "1")
                kill(etcd.pid, SIGSTOP)
                let limit = Duration.milliseconds(200)
                #expect(
                    await connection.call(PutRequest("/a", "2".octets), within: limit).doubt
                        == .late(limit)
                )
                let trouble = await #expect(throws: ConnectionTrouble.self) {
                    try await EtcdConnection.with(etcd.endpoint, within: limit) { _ in }
                }
                #expect(trouble?.description.contains("has not answered") == true)
                kill(etcd.pid, SIGCONT)
                // The connection is of use again.
                _ = try await self.put(connection, "/b", "1")
            }
        }
    }

    @Test func aKilledMemberLeavesItsCallsUnknown() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                kill(etcd.pid, SIGSTOP)
                async let outcome = connection.call(PutRequest("/a", []))
                // Sent before it is killed, or not: nobody can tell.
                kill(etcd.pid, SIGKILL)
                let why = try await connection.ended.get().description
                #expect(why.contains("\(etcd.endpoint)"))
                #expect(await outcome.answer == nil)
                #expect(await connection.call(PutRequest("/a", [])).refusal?.kind == .notSent)
            }
        }
    }

    /// Which the limit on control frames would end after 200 calls.
    @Test func thousandsOfCallsAndAWatchAreMadeOnOneConnection() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                var news = connection.news(
                    of: EngineWatch(KeyRange("/a"), from: 1, counting: "/a", after: 0)
                )
                guard case .began? = await news.next() else {
                    Issue.record("no watch")
                    return
                }
                let count = 1500
                for number in 1...count { _ = try await self.put(connection, "/a", "\(number)") }
                var seen: [String] = []
                while seen.count < count, case .changed(let events, _)? = await news.next() {
                    seen += events.map { String(decoding: $0.entry.value, as: UTF8.self) }
                }
                #expect(seen == (1...count).map { "\($0)" })
            }
        }
    }

    // MARK: Watches

    @Test func aCompactedWatchIsToldTheOldestRevision() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                for number in 1...5 { _ = try await self.put(connection, "/a", "\(number)") }
                var live = connection.news(of: EngineWatch(KeyRange("/a"), from: 2))
                #expect(await live.next() == .began(revision: 6))
                guard case .changed(_, 6)? = await live.next() else {
                    Issue.record("nothing came")
                    return
                }
                try await etcd.etcdctl("compaction", "5")
                var news = connection.news(of: EngineWatch(KeyRange("/a"), from: 3))
                #expect(await news.next() == .began(revision: 6))
                #expect(await news.next() == .ended(.compacted(oldest: 5)))
                #expect(await news.next() == nil)
                // The other one goes on.
                _ = try await self.put(connection, "/a", "6")
                guard case .changed(_, 7)? = await live.next() else {
                    Issue.record("it does not go on")
                    return
                }
            }
        }
    }

    @Test func aQuietWatchSaysThatItLives() async throws {
        try await EtcdProcess.run(arguments: [
            "--experimental-watch-progress-notify-interval", "100ms",
        ]) { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                var news = connection.news(of: EngineWatch(KeyRange("/a"), from: 1))
                #expect(await news.next() == .began(revision: 1))
                let revision = try await self.put(connection, "/b", "of another's")
                while let next = await news.next(), next != .alive(revision: revision) {
                    guard case .alive = next else {
                        Issue.record("\(next)")
                        return
                    }
                }
            }
        }
    }

    /// Several megabytes at once, which etcd cuts where it likes.
    @Test func aLongResponseComesAsAWhole() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                let value = [UInt8](repeating: 7, count: 300_000)
                for number in 0..<20 {
                    _ = try await connection.answer(PutRequest("/a/\(number % 4)", value))
                }
                let range = try await connection.answer(RangeRequest(KeyRange(prefix: "/a/")))
                #expect(range.entries.map(\.value.count) == [300_000, 300_000, 300_000, 300_000])
                // Half of it, so that it is one response: what is past is read in pieces of a thousand revisions.
                var news = connection.news(of: EngineWatch(KeyRange(prefix: "/a/"), from: 2))
                #expect(await news.next() == .began(revision: 21))
                guard case .changed(let events, 21)? = await news.next() else {
                    Issue.record("it is not whole")
                    return
                }
                #expect(events.map(\.entry.modRevision) == Array(2...21))
                #expect(events.allSatisfy { $0.entry.value == value })
            }
        }
    }

    /// One that is begun ahead of what the engine has, as after a snapshot was put back.
    @Test func aWatchOfTheFutureSaysWhereTheEngineIs() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                var news = connection.news(of: EngineWatch(KeyRange("/a"), from: 100))
                #expect(await news.next() == .began(revision: 1))
            }
        }
    }

    @Test func aWatchThatIsStoppedTellsNothingMore() async throws {
        try await EtcdProcess.run { etcd, _ in
            try await EtcdConnection.with(etcd.endpoint) { connection in
                let told = Counter()
                let running = connection.watch(EngineWatch(KeyRange("/a"), from: 1)) { _ in
                    told.count()
                }
                running.stop()
                _ = try await self.put(connection, "/a", "1")
                _ = try await self.put(connection, "/a", "2")
                #expect(told.value <= 1)
            }
        }
    }
}
#endif
