#if Cluster
import Glibc
import NIOCore
import NIOHPACK
import NIOHTTP2
import TestSupport
import Testing

@testable import StateMachineEtcd

/// What an engine does that no etcd does, or seldom.
@Suite(.bounded) struct EtcdConnectionTests {
    /// What becomes of a put to an engine that does that.
    private func put(
        within limit: Duration = patience,
        _ serve: @escaping @Sendable (FakeCall) -> Void
    ) async throws -> Outcome<Done> {
        var outcome: Outcome<Done>?
        try await FakeEngine.run(serve) { endpoint in
            outcome = try await EtcdConnection.with(endpoint) {
                await $0.call(PutRequest("/a", []), within: limit)
            }
        }
        return try #require(outcome)
    }

    private func malformed(_ outcome: Outcome<Done>) -> String? {
        if case .malformed(let what)? = outcome.doubt { what } else { nil }
    }

    @Test func anAnswerIsOneWhenItsStatusHasCome() async throws {
        let outcome = try await self.put { call in
            #expect(call.path == "/etcdserverpb.KV/Put" && call.message == [0x0a, 2] + "/a".octets)
            call.send()
            // In two pieces.
            call.send([0, 0, 0, 0, 4, 0x0a, 2])
            call.send([0x18, 7])
            call.end()
        }
        #expect(outcome.answer?.header.revision == 7)
    }

    @Test(
        arguments: [
            ("etcdserver: no leader", 14, .noLeader),
            ("etcdserver: permission denied", 7, .permission),
            ("etcdserver: user name is empty", 3, .permission),
            ("etcdserver: request is too large", 3, .tooLarge),
            ("etcdserver: too many operations in txn request", 3, .tooLarge),
            ("grpc: received message larger than max (3 vs. 2)", 8, .tooLarge),
            ("etcdserver: too many requests", 8, .tooManyRequests),
            ("etcdserver: requested lease not found", 5, .leaseGone),
            ("etcdserver: mvcc: required revision has been compacted", 11, .compacted),
            ("unknown method Put for service etcdserverpb.KV", 12, .invalid),
        ] as [(String, Int, Refusal.Kind)]
    )
    func someTextsSayThatNothingWasDone(text: String, code: Int, kind: Refusal.Kind) async throws {
        let refusal = try #require(try await self.put { $0.refuse(code, text) }.refusal)
        #expect(refusal.kind == kind)
        #expect(refusal.description.contains(text))
        // So it does after headers, too.
        let later = try await self.put {
            $0.send()
            $0.end(code, text)
        }
        #expect(later.refusal == refusal)
    }

    @Test(arguments: [
        ("etcdserver: request timed out", 14),
        ("etcdserver: request timed out, possibly due to previous leader failure", 14),
        ("etcdserver: leader changed", 14),
        ("etcdserver: server stopped", 14),
        ("raft proposal dropped", 2),
        ("context deadline exceeded", 4),
        ("something that a later etcd says", 3),
        ("grpc: trying to send message larger than max (3 vs. 2)", 8),
        ("", 13),
    ])
    func allOthersSayThatItMayHaveBeen(text: String, code: Int) async throws {
        #expect(try await self.put { $0.refuse(code, text) }.doubt == .failed(code, text))
    }

    @Test func aFullEngineMayHaveDoneIt() async throws {
        let outcome = try await self.put {
            $0.refuse(8, "etcdserver: mvcc: database space exceeded")
        }
        #expect(outcome.doubt == .full)
    }

    @Test func anAnswerFollowedByAnErrorIsNone() async throws {
        let outcome = try await self.put {
            $0.send()
            $0.send(message: [])
            $0.end(14, "etcdserver: request timed out")
        }
        #expect(outcome.doubt == .failed(14, "etcdserver: request timed out"))
    }

    @Test func whatIsNoAnswerIsSaidToBeNone() async throws {
        func expect(_ text: String, _ serve: @escaping @Sendable (FakeCall) -> Void) async throws {
            let what = self.malformed(try await self.put(serve))
            #expect(what?.contains(text) == true, "\(what ?? "nothing")")
        }
        try await expect("HTTP status is 404") {
            $0.send(headers: [":status": "404"], isLast: true)
        }
        try await expect("no status") { $0.send(headers: [":status": "200"], isLast: true) }
        try await expect("no status") {
            $0.send()
            $0.send([0, 0, 0, 0, 0], isLast: true)
        }
        try await expect("does not speak gRPC") {
            $0.send()
            $0.send("<html>".octets)
        }
        try await expect("does not speak gRPC") {
            $0.send()
            $0.send([1, 0, 0, 0, 0])
        }
        try await expect("not whole") {
            $0.send()
            $0.send([0, 0, 0, 0, 9, 1])
            $0.end()
        }
        try await expect("answers nothing") {
            $0.send()
            $0.end()
        }
        try await expect("twice") {
            $0.send()
            $0.send(message: [])
            $0.send(message: [])
        }
        try await expect("ends early") {
            $0.send()
            $0.send(message: [0x0a, 200, 1])
        }
        // Said when its length is known.
        try await expect("104857600 bytes") {
            $0.send()
            $0.send([0, 0x06, 0x40, 0, 0, 1, 2, 3])
        }
    }

    @Test func halfAFrameIsWaitedForAndNoLonger() async throws {
        let limit = Duration.milliseconds(200)
        let outcome = try await self.put(within: limit) {
            $0.send()
            $0.send([0, 0, 0, 0, 9, 1])
        }
        #expect(outcome.doubt == .late(limit))
    }

    @Test func nothingAtAllIsWaitedForAndNoLonger() async throws {
        let limit = Duration.milliseconds(200)
        #expect(try await self.put(within: limit, { _ in }).doubt == .late(limit))
    }

    /// One that never ends, within the length that it has said.
    @Test func anEndlessMessageIsWaitedForAndNoLonger() async throws {
        let limit = Duration.milliseconds(300)
        let outcome = try await self.put(within: limit) { call in
            call.send()
            call.send([0, 0x01, 0xFF, 0xFF, 0xFF])
            call.stream.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(1))
            { task in
                if call.stream.isActive { call.send([1]) } else { task.cancel() }
            }
        }
        #expect(outcome.doubt == .late(limit))
    }

    @Test func aCallThatIsTurnedAwayWasNotLookedAt() async throws {
        #expect(try await self.put { $0.reset(.refusedStream) }.refusal?.kind == .notSent)
        // After a beginning of an answer nobody can say so.
        let later = try await self.put {
            $0.send()
            $0.reset(.refusedStream)
        }
        #expect(later.doubt != nil)
    }

    @Test(arguments: [.cancel, .internalError, .enhanceYourCalm] as [HTTP2ErrorCode])
    func aCallThatIsResetMayHaveBeenDone(code: HTTP2ErrorCode) async throws {
        guard case .lost? = try await self.put({ $0.reset(code) }).doubt else {
            Issue.record("it is known")
            return
        }
    }

    @Test func aConnectionThatIsLostLeavesItsCallsUnknown() async throws {
        let outcome = try await self.put { $0.connection.close(promise: nil) }
        guard case .lost(let why)? = outcome.doubt else {
            Issue.record("it is known")
            return
        }
        #expect(why.contains("has closed the connection"))
    }

    @Test func afterGoAwayWhatIsUnderWayIsAnsweredAndNoMoreIsSent() async throws {
        @Sendable func serve(_ call: FakeCall) {
            call.goAway(.noError, after: 1)
            call.send()
            call.send(message: [])
            call.end()
        }
        try await FakeEngine.run(serve) { endpoint in
            try await EtcdConnection.with(endpoint) { connection in
                async let first = connection.call(PutRequest("/a", []))
                let why = try await connection.ended.get().description
                #expect(why.contains("no more calls"))
                #expect(await connection.call(PutRequest("/b", [])).refusal?.kind == .notSent)
                #expect(await first.answer != nil)
            }
        }
    }

    @Test func whatGoAwayPassesOverMayHaveBeenDone() async throws {
        let outcome = try await self.put { $0.goAway(.enhanceYourCalm, after: 0) }
        #expect(outcome.doubt != nil)
    }

    @Test func aClosedConnectionSendsNothing() async throws {
        @Sendable func answerNothing(_ call: FakeCall) {}
        try await FakeEngine.run(answerNothing) { endpoint in
            try await EtcdConnection.with(endpoint) { connection in
                async let first = connection.call(PutRequest("/a", []))
                connection.close()
                _ = try await connection.ended.get()
                #expect(await connection.call(PutRequest("/b", [])).refusal?.kind == .notSent)
                #expect(await first.answer == nil)
                guard case .ended(.lost)? = await news(connection) else {
                    Issue.record("a watch has begun")
                    return
                }
            }
        }
        func news(_ connection: EtcdConnection) async -> EngineWatch.News? {
            var news = connection.news(of: EngineWatch(KeyRange("/a"), from: 1))
            return await news.next()
        }
    }

    // MARK: Connecting

    private func trouble(
        _ endpoint: EtcdEndpoint,
        within limit: Duration = patience
    ) async -> String {
        do {
            return try await EtcdConnection.with(endpoint, within: limit) { _ in "" }
        } catch {
            return "\(error)"
        }
    }

    @Test func whoSpeaksSomethingElseIsNoEngine() async throws {
        for text in [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "{\"type\":\"hello\"}\n",
            "\0\0\0\0\0\0\0\0\0\0\0\0",
        ] {
            try await FakeEngine.run(sending: text.octets) { endpoint in
                let trouble = await self.trouble(endpoint)
                #expect(
                    trouble.contains("has failed") && trouble.contains("\(endpoint)"),
                    "\(trouble)"
                )
            }
        }
    }

    @Test func whoSaysNothingIsWaitedForAndNoLonger() async throws {
        try await FakeEngine.run(sending: []) { endpoint in
            let trouble = await self.trouble(endpoint, within: .milliseconds(200))
            #expect(trouble.contains("has not answered for 0.2 seconds"), "\(trouble)")
        }
    }

    @Test func whoHangsUpIsSaidToHave() async throws {
        try await FakeEngine.run(sending: [], isClosing: true) { endpoint in
            #expect(
                await self.trouble(endpoint)
                    == "\(endpoint) hangs up at once; is it etcd, and not https://?"
            )
        }
    }

    @Test func whereNobodyListensThatIsSaid() async throws {
        let port = try EtcdProcess.freePorts(1)[0]
        let endpoint = try EtcdEndpoint("http://127.0.0.1:\(port)")
        let trouble = await self.trouble(endpoint)
        #expect(
            trouble.contains("nobody answers at \(endpoint)") && trouble.contains("refused"),
            "\(trouble)"
        )
        let nowhere = try EtcdEndpoint("http://nowhere.invalid:2379", isInsecure: true)
        #expect(await self.trouble(nowhere).contains("there is no host nowhere.invalid"))
    }

    /// Its queue of connections is full, so the kernel answers nobody.
    @Test func aHostThatDropsPacketsIsWaitedForAndNoLonger() async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let port = try EtcdProcess.bind(listener)
        listen(listener, 0)
        let endpoint = try EtcdEndpoint("http://127.0.0.1:\(port)")
        var troubles: [String] = []
        // Those whom the kernel lets in are waited for, too.
        for _ in 0..<4 { troubles.append(await self.trouble(endpoint, within: .milliseconds(200))) }
        #expect(
            troubles.last
                == "\(endpoint) has not answered for 200 ms; is that host up, and its port open?"
        )
    }

    /// The engine's settings, and then what is no frame.
    @Test(
        arguments: [
            [0xFF, 0xFF, 0xFF, 0x00, 0x00, 0, 0, 0, 1], [0, 0, 1, 0x06, 0, 0, 0, 0, 0, 1],
            [0, 0, 4, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0], Array("HTTP/1.1 400".utf8),
        ] as [[UInt8]]
    )
    func aBrokenFrameEndsTheConnection(frame: [UInt8]) async throws {
        try await FakeEngine.run(sending: [0, 0, 0, 4, 0, 0, 0, 0, 0] + frame) { endpoint in
            do {
                try await EtcdConnection.with(endpoint) { connection in
                    let why = try await connection.ended.get().description
                    #expect(why.contains("has failed"), "\(why)")
                    #expect(await connection.call(PutRequest("/a", [])).refusal?.kind == .notSent)
                }
            } catch let error as ConnectionTrouble {
                // It came at once.
                #expect(error.description.contains("has failed"), "\(error)")
            }
        }
    }

    @Test func anEncryptedEndpointNeedsCredentials() async throws {
        let endpoint = try EtcdEndpoint("https://127.0.0.1:1")
        #expect(await self.trouble(endpoint).contains("set engine-ca"))
    }
}
#endif
