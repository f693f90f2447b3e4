#if Cluster
import TestSupport
import Testing

@testable import StateMachineEtcd

/// What a watch makes of responses, without an engine.
@Suite struct EngineWatchTests {
    /// A response with puts of keys, each with its revision and version.
    private func answer(
        _ revision: Int64,
        _ events: [(key: String, revision: Int64, version: Int64)] = [],
        isFragment: Bool = false
    ) throws -> EngineWatch.Event {
        try self.came { writer in
            writer.write(7, isFragment)
            writer.write(1) { $0.write(3, revision) }
            for event in events {
                writer.write(11) {
                    $0.write(2) {
                        $0.write(1, event.key.octets)
                        $0.write(3, event.revision)
                        $0.write(4, event.version)
                    }
                }
            }
        }
    }

    private func came(_ write: (inout ProtobufWriter) -> Void) throws -> EngineWatch.Event {
        var writer = ProtobufWriter()
        write(&writer)
        return .came(try WatchRequest.Answer(writer.bytes[...]))
    }

    private func begun(
        counting key: String? = nil,
        after version: Int64? = nil
    ) throws -> EngineWatch {
        var watch = EngineWatch(KeyRange(prefix: "/m/"), from: 10, counting: key, after: version)
        let created = try self.came {
            $0.write(3, true)
            $0.write(1) { $0.write(3, 9) }
        }
        #expect(watch.thisHappened(created) == .began(revision: 9))
        return watch
    }

    private func ending(_ news: EngineWatch.News?) -> EngineWatch.Ending? {
        if case .ended(let ending)? = news { ending } else { nil }
    }

    private func gap(_ news: EngineWatch.News?) -> String? {
        if case .gap(let what)? = self.ending(news) { what } else { nil }
    }

    @Test func changesComeWithTheirRevision() throws {
        var watch = try self.begun()
        // Two keys at one revision, and others' revisions between.
        let news = watch.thisHappened(
            try self.answer(14, [("/m/a", 10, 1), ("/m/b", 10, 1), ("/m/a", 13, 2)])
        )
        guard case .changed(let events, let through)? = news else {
            Issue.record("\(String(describing: news))")
            return
        }
        #expect(events.map(\.entry.modRevision) == [10, 10, 13] && through == 13)
        #expect(watch.request == WatchRequest(KeyRange(prefix: "/m/"), from: 14))
    }

    @Test func aResponseIsToldAsAWhole() throws {
        var watch = try self.begun()
        #expect(watch.thisHappened(try self.answer(12, [("/m/a", 10, 1)], isFragment: true)) == nil)
        #expect(watch.thisHappened(try self.answer(12, [("/m/b", 10, 1)], isFragment: true)) == nil)
        // Half a response is nothing that another watch may begin behind.
        #expect(watch.request.start == 10)
        guard
            case .changed(let events, 12)? = watch.thisHappened(
                try self.answer(12, [("/m/c", 12, 1)])
            )
        else {
            Issue.record("it did not come")
            return
        }
        #expect(events.map(\.entry.key) == ["/m/a", "/m/b", "/m/c"].map(\.octets))
    }

    @Test func whatIsTooMuchAtOnceEndsIt() throws {
        var watch = try self.begun()
        let value = [UInt8](repeating: 1, count: 8 << 20)
        var news: EngineWatch.News?
        for _ in 0..<5 where news == nil {
            let part = try self.came {
                $0.write(7, true)
                $0.write(11) {
                    $0.write(2) {
                        $0.write(1, "/m/a".octets)
                        $0.write(5, value)
                    }
                }
            }
            news = watch.thisHappened(part)
        }
        guard case .lost(let why)? = self.ending(news) else {
            Issue.record("it goes on")
            return
        }
        #expect(why.contains("read what is there now"))
    }

    @Test func aSignOfLifeIsNoChange() throws {
        var watch = try self.begun()
        #expect(watch.thisHappened(try self.answer(50)) == .alive(revision: 50))
        // It may come before what happened until then.
        #expect(self.ending(watch.thisHappened(try self.answer(50, [("/m/a", 20, 1)]))) == nil)
        #expect(watch.request.start == 21)
    }

    @Test func whatDoesNotFollowIsAGap() throws {
        for events in [
            [("/m/a", 9, 1)],
            [("/m/a", 12, 1), ("/m/b", 11, 1)],
            [("/n/a", 12, 1)],
        ] as [[(String, Int64, Int64)]] {
            var watch = try self.begun()
            #expect(self.gap(watch.thisHappened(try self.answer(20, events))) != nil)
            #expect(watch.thisHappened(try self.answer(20, [("/m/a", 30, 1)])) == nil)
        }
        // Nor may what has come before, or the rest of its revision.
        var watch = try self.begun()
        #expect(self.ending(watch.thisHappened(try self.answer(12, [("/m/a", 12, 1)]))) == nil)
        #expect(
            self.gap(watch.thisHappened(try self.answer(12, [("/m/b", 12, 1)])))?.contains(
                "13 was the least"
            ) == true
        )
    }

    @Test func aVersionThatIsLeftOutIsAGap() throws {
        var watch = try self.begun(counting: "/m/head", after: 4)
        #expect(
            self.ending(
                watch.thisHappened(try self.answer(12, [("/m/head", 10, 5), ("/m/head", 11, 6)]))
            ) == nil
        )
        #expect(self.ending(watch.thisHappened(try self.answer(12, [("/m/log", 12, 1)]))) == nil)
        #expect(
            self.gap(watch.thisHappened(try self.answer(14, [("/m/head", 14, 8)])))
                == "version 8 of a key came after 6"
        )
        // Deleted and made again it is another.
        watch = try self.begun(counting: "/m/head", after: 1)
        #expect(self.gap(watch.thisHappened(try self.answer(14, [("/m/head", 14, 1)]))) != nil)
        // Where none was known the first one is taken.
        watch = try self.begun(counting: "/m/head")
        #expect(self.ending(watch.thisHappened(try self.answer(14, [("/m/head", 14, 8)]))) == nil)
        #expect(self.gap(watch.thisHappened(try self.answer(16, [("/m/head", 16, 10)]))) != nil)
    }

    @Test func whyItIsCancelledIsTold() throws {
        func cancelled(_ reason: String, compact: Int64 = 0) throws -> EngineWatch.Ending? {
            var watch = EngineWatch(KeyRange("/a"), from: 1)
            let event = try self.came {
                $0.write(3, true)
                $0.write(4, true)
                $0.write(5, compact)
                $0.write(6, reason.octets)
            }
            return self.ending(watch.thisHappened(event))
        }
        #expect(try cancelled("", compact: 7) == .compacted(oldest: 7))
        guard case .refused(let refusal)? = try cancelled("etcdserver: permission denied") else {
            Issue.record("it is no refusal")
            return
        }
        #expect(refusal.kind == .permission)
        guard case .lost(let why)? = try cancelled("") else {
            Issue.record("it is not lost")
            return
        }
        #expect(why.contains("does not say why"))
    }

    @Test func changesBeforeItHasBegunEndIt() throws {
        var watch = EngineWatch(KeyRange(prefix: "/m/"), from: 10)
        #expect(self.gap(watch.thisHappened(try self.answer(20, [("/m/a", 12, 1)]))) != nil)
    }

    @Test func itsStreamsEndIsItsOwn() throws {
        func ended(_ end: GRPCAnswer.End) throws -> EngineWatch.Ending? {
            var watch = try self.begun()
            let ending = self.ending(watch.thisHappened(.ended(end)))
            #expect(watch.thisHappened(.ended(end)) == nil)
            return ending
        }
        guard case .refused(let refusal)? = try ended(.status(14, "etcdserver: no leader")) else {
            Issue.record("it is no refusal")
            return
        }
        #expect(refusal.kind == .noLeader)
        for end in [.status(0, ""), .status(14, "x"), .broken("x"), .malformed("x")]
            as [GRPCAnswer.End]
        {
            guard case .lost? = try ended(end) else {
                Issue.record("\(end) does not end it")
                return
            }
        }
        var watch = try self.begun()
        guard case .lost(let why)? = self.ending(watch.thisHappened(.malformed(Malformed("x"))))
        else {
            Issue.record("it goes on")
            return
        }
        #expect(why.contains("is not etcd"))
    }
}
#endif
