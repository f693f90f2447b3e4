#if Cluster
import TestSupport
import Testing

@testable import StateMachineEtcd

/// Messages against what etcd's own client and a real etcd have sent.
@Suite(.bounded) struct EtcdMessageTests {
    @Test(.enabled(if: RecordedSession.isRecording, "recorded only on request")) func record()
        async throws
    {
        try await RecordedSession.record()
    }

    private let session: RecordedSession

    init() throws { self.session = try RecordedSession() }

    private func sent<Request: EtcdRequest>(_ path: Request.Type) -> [[UInt8]] {
        self.session[Request.path].map { $0.sent.first ?? [] }
    }

    private func received<Message: EtcdMessage>(_ path: String, _ index: Int) throws -> Message {
        try Message(try #require(self.session[path][index].received.first)[...])
    }

    @Test func requestsAreWrittenAsEtcdsOwnClientDoes() throws {
        let lease = try self.received(LeaseGrantRequest.path, 0) as Lease
        #expect(
            self.sent(PutRequest.self)
                == [
                    PutRequest("/m/head", "one".octets), PutRequest("/m/head", "two".octets),
                    PutRequest("/m/head", nil),
                    PutRequest("/m/log/0001", "{}".octets),
                    PutRequest("/m/hosts/a", "x".octets, lease: lease.id),
                ].map(\.bytes)
        )
        #expect(
            self.sent(RangeRequest.self)
                == [
                    RangeRequest(KeyRange(prefix: "/m/")),
                    RangeRequest(KeyRange(prefix: "/m/"), limit: 1, at: 3, keysOnly: true),
                    RangeRequest(KeyRange("/m/head"), at: 3),
                ].map(\.bytes)
        )
        let head = KeyRange("/m/head")
        #expect(
            self.sent(TransactionRequest.self)
                == [
                    TransactionRequest(
                        if: [Comparison(head, .equal, .modRevision(4))],
                        then: [
                            .put(PutRequest("/m/head", "three".octets)),
                            .delete(DeleteRequest(KeyRange("/m/log/0001"))),
                        ],
                        else: [.range(RangeRequest(head))]
                    ),
                    TransactionRequest(
                        if: [Comparison(head, .equal, .modRevision(4))],
                        then: [.put(PutRequest("/m/head", "four".octets))],
                        else: [.range(RangeRequest(head))]
                    ),
                ].map(\.bytes)
        )
        #expect(self.sent(DeleteRequest.self) == [DeleteRequest(KeyRange(prefix: "/m/log/")).bytes])
        #expect(self.sent(LeaseGrantRequest.self) == [LeaseGrantRequest(seconds: 60).bytes])
        #expect(self.sent(LeaseKeepAliveRequest.self) == [LeaseKeepAliveRequest(lease.id).bytes])
        #expect(self.sent(LeaseRevokeRequest.self) == [LeaseRevokeRequest(lease.id).bytes])
        #expect(self.sent(StatusRequest.self) == [StatusRequest().bytes])
    }

    /// That asks for signs of life and fragments, too, which etcdctl's does not.
    @Test func aWatchIsWrittenAsEtcdsOwnClientDoes() throws {
        let recorded = try #require(self.sent(WatchRequest.self).first)
        let own = WatchRequest(KeyRange(prefix: "/m/"), from: 1).bytes
        #expect(own.dropFirst(2) == recorded.dropFirst(2) + [0x20, 1, 0x40, 1])
        #expect(own.prefix(2) == [recorded[0], recorded[1] + 4])
    }

    @Test func answersAreRead() throws {
        let put = try self.received(PutRequest.path, 0) as Done
        #expect(
            put.header.revision == 2 && put.header.term == 2 && put.header.cluster != 0
                && put.header.member != 0
        )

        let range = try self.received(RangeRequest.path, 0) as RangeRequest.Answer
        #expect(range.count == 2 && !range.hasMore && range.header.revision == 5)
        #expect(range.entries.map(\.key) == ["/m/head", "/m/log/0001"].map(\.octets))
        #expect(range.entries.map(\.value) == ["two", "{}"].map(\.octets))
        #expect(
            range.entries.map(\.createRevision) == [2, 5]
                && range.entries.map(\.modRevision) == [4, 5]
        )
        #expect(range.entries.map(\.version) == [3, 1] && range.entries.map(\.lease) == [0, 0])

        let done = try self.received(TransactionRequest.path, 0) as TransactionRequest.Answer
        guard done.succeeded, done.results.count == 2, case .put = done.results[0],
            case .delete(let deleted) = done.results[1]
        else {
            Issue.record("\(done)")
            return
        }
        #expect(deleted.deleted == 1 && deleted.header.revision == 6)

        let lost = try self.received(TransactionRequest.path, 1) as TransactionRequest.Answer
        guard !lost.succeeded, case .range(let head)? = lost.results.first else {
            Issue.record("\(lost)")
            return
        }
        #expect(head.entries.map(\.value) == ["three".octets] && head.entries.map(\.version) == [4])

        let lease = try self.received(LeaseKeepAliveRequest.path, 0) as Lease
        #expect(lease.seconds == 60 && lease.id > 0)
        let status = try self.received(StatusRequest.path, 0) as StatusRequest.Answer
        #expect(
            status.version == "3.4.23" && status.databaseSize > 0
                && status.leader == status.header.member
        )
        #expect(status.errors == [])
    }

    @Test func aWatchsAnswersAreRead() throws {
        let watches = self.session[WatchRequest.path]
        var watch = EngineWatch(KeyRange(prefix: "/m/"), from: 1, counting: "/m/head", after: 0)
        let news = try watches[0].received.map {
            watch.thisHappened(.came(try WatchRequest.Answer($0[...])))
        }
        guard news.count == 3, case .began(7)? = news[0], case .changed(let past, 7)? = news[1],
            case .changed(let present, 8)? = news[2]
        else {
            Issue.record("\(news)")
            return
        }
        // The log's key was deleted at the revision at which the head was put.
        #expect(past.map(\.entry.modRevision) == [2, 3, 4, 5, 6, 6, 7])
        #expect(past.map(\.isDeletion) == [false, false, false, false, false, true, false])
        #expect(present.map(\.isDeletion) == [true] && present[0].entry.key == "/m/hosts/a".octets)

        var compacted = EngineWatch(KeyRange("/m/head"), from: 3)
        let ends = try watches[1].received.map {
            compacted.thisHappened(.came(try WatchRequest.Answer($0[...])))
        }
        #expect(ends == [.began(revision: 8), .ended(.compacted(oldest: 7))])
    }

    @Test func aRecordedRefusalIsOne() throws {
        let status = try #require(
            self.session[RangeRequest.path].last?.status.split(separator: " ", maxSplits: 1)
        )
        let outcome = Outcome<Done>(of: .status(try #require(Int(status[0])), String(status[1])))
        #expect(outcome.refusal?.kind == .compacted)
    }

    // MARK: What is not recorded

    @Test func comparisonsOfRangesHaveTheirEnd() {
        var writer = ProtobufWriter()
        let comparison = Comparison(KeyRange(prefix: "/v/"), .less, .modRevision(0))
        TransactionRequest(if: [comparison], then: []).write(to: &writer)
        // Field 64 takes two bytes; a 0 is written, since it says what is compared.
        #expect(
            writer.bytes == [0x0a, 17, 0x08, 2, 0x10, 2, 0x1a, 3] + "/v/".octets + [
                0x30, 0, 0x82, 4, 3,
            ] + "/v0".octets
        )
    }

    @Test(
        arguments: [
            ([0x08], "does not end"),
            ([0x08] + [UInt8](repeating: 0xFF, count: 10) + [1], "too large"),
            ([0x08] + [UInt8](repeating: 0xFF, count: 9) + [2], "too large"),
            ([0x00, 1], "no field 0"),
            ([0x0b], "type 3"),
            ([0x0a, 5, 1], "ends early"),
            ([0x0a, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], "ends early"),
            ([0x0a, 2, 0x1a, 0], "is no number"),
            ([0x08, 1], "should be bytes"),
        ] as [([UInt8], String)]
    )
    func whatIsNoMessageIsRefused(bytes: [UInt8], why: String) {
        let error = #expect(throws: Malformed.self) { try Done(bytes[...]) }
        #expect(error?.description.contains(why) == true, "\(error?.description ?? "")")
    }

    @Test func fieldsOfALaterEtcdArePassedOver() throws {
        let later: [UInt8] = [
            0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4, 0x70, 1, 0x0a, 2, 0x18, 9,
        ]
        #expect(try Done(later[...]).header.revision == 9)
    }

    @Test func anAnswerHasALimit() {
        let entry: [UInt8] = [0x12, 0]
        let bytes = (0...1 << 17).flatMap { _ in entry }
        #expect(throws: Malformed.self) { _ = try RangeRequest.Answer(bytes[...]) }
        #expect(throws: Never.self) { _ = try RangeRequest.Answer(bytes.dropFirst(2)) }
    }

    @Test func keysAreInARangeAsEtcdHasIt() {
        let range = KeyRange(prefix: "/m/")
        #expect(
            range.contains("/m/".octets) && range.contains("/m/\u{FFFF}".octets)
                && range.contains([0x2F, 0x6D, 0x2F, 0xFF])
        )
        #expect(
            !range.contains("/m".octets) && !range.contains("/m0".octets)
                && !range.contains("/n/".octets)
        )
        #expect(KeyRange("/m").contains("/m".octets) && !KeyRange("/m").contains("/m/".octets))
        #expect(
            KeyRange(from: "a", upTo: "c").contains("b".octets)
                && !KeyRange(from: "a", upTo: "c").contains("c".octets)
        )
    }
}
#endif
