#if Cluster
import Glibc
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import StateMachineEtcd

/// One client and several members, of which some do not answer.
@Suite(
    .bounded,
    .enabled(
        if: EtcdProcess.isInstalled,
        "etcd is not installed: apt install etcd-server etcd-client"
    )
)
struct EtcdClientTests {
    private func with(
        _ endpoints: [EtcdEndpoint],
        _ credentials: EtcdCredentials? = nil,
        within limit: Duration = patience,
        _ body: (EtcdClient, inout AsyncStream<EtcdClient.News>.AsyncIterator) async throws -> Void
    ) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: EtcdClient.News.self)
        let client = EtcdClient(
            endpoints,
            credentials,
            probe: RangeRequest(KeyRange("/head")),
            within: limit,
            on: MultiThreadedEventLoopGroup.singleton.next()
        ) { continuation.yield($0) }
        defer { client.stop() }
        var news = stream.makeAsyncIterator()
        try await body(client, &news)
    }

    /// The next connection, and what was down before.
    private func up(
        _ news: inout AsyncStream<EtcdClient.News>.AsyncIterator
    ) async throws -> (connection: EtcdConnection, troubles: [[String]]) {
        var troubles: [[String]] = []
        while let next = await news.next() {
            switch next {
            case .up(let connection, _): return (connection, troubles)
            case .down(let why): troubles.append(why.map(\.description))
            }
        }
        throw TestFailure("it has ended")
    }

    private func down(
        _ news: inout AsyncStream<EtcdClient.News>.AsyncIterator
    ) async throws -> [String] {
        guard case .down(let troubles)? = await news.next() else {
            throw TestFailure("it is not down")
        }
        return troubles.map(\.description)
    }

    /// One where nobody listens, one that takes connections and says nothing, and one that is well: its answer is waited for, and
    /// no other's.
    @Test func theFirstThatAnswersIsKept() async throws {
        let dead = try EtcdEndpoint("http://127.0.0.1:\(try EtcdProcess.freePorts(1)[0])")
        try await EtcdProcess.run { etcd, _ in
            try await FakeEngine.run(sending: []) { hole in
                // Longer than the test may take: so no other was waited for.
                try await self.with([hole, dead, etcd.endpoint], within: .seconds(3600)) {
                    _,
                    news in
                    let (connection, troubles) = try await self.up(&news)
                    #expect(connection.endpoint == etcd.endpoint && troubles.isEmpty)
                    _ = try await connection.answer(PutRequest("/head", []))
                }
            }
        }
    }

    @Test func whyNoneAnswersIsSaidOfEach() async throws {
        let dead = try EtcdEndpoint("http://127.0.0.1:\(try EtcdProcess.freePorts(1)[0])")
        try await FakeEngine.run(sending: []) { hole in
            @Sendable func refuse(_ call: FakeCall) { call.refuse(14, "etcdserver: no leader") }
            try await FakeEngine.run(refuse) { alone in
                try await self.with([hole, dead, alone], within: .seconds(3)) { _, news in
                    let troubles = try await self.down(&news)
                    #expect(troubles.count == 3)
                    #expect(
                        troubles[0].contains("\(hole)") && troubles[0].contains("has not answered")
                    )
                    #expect(troubles[1].contains("\(dead)") && troubles[1].contains("refused"))
                    #expect(troubles[2].contains("\(alone)") && troubles[2].contains("no leader"))
                }
            }
        }
    }

    @Test func oneThatComesBackIsFound() async throws {
        try await withTemporaryDirectory { directory in
            let etcd = try await EtcdProcess(in: directory)
            try await self.with([etcd.endpoint]) { _, news in
                let (first, _) = try await self.up(&news)
                _ = try await first.answer(PutRequest("/head", "1".octets))
                try await etcd.process.end(by: SIGKILL)
                #expect(try await self.down(&news).count == 1)
                let again = try await EtcdProcess(in: directory, at: etcd.endpoint)
                let (second, _) = try await self.up(&news)
                #expect(second !== first)
                let head = try await second.answer(RangeRequest(KeyRange("/head")))
                #expect(head.entries.map(\.value) == ["1".octets])
                try await again.process.end(by: SIGKILL)
            }
        }
    }

    /// A member that is stopped keeps its connection; whoever notices that nothing is answered has another looked for.
    @Test func aStoppedMemberIsLeftForAnother() async throws {
        try await withTemporaryDirectory { directory in
            let members = try await EtcdProcess.cluster(in: directory)
            try await self.with(members.map(\.endpoint), within: .seconds(2)) { client, news in
                let (first, _) = try await self.up(&news)
                guard let member = members.first(where: { $0.endpoint == first.endpoint }) else {
                    throw TestFailure("whose?")
                }
                kill(member.pid, SIGSTOP)
                guard
                    let doubt = await first.call(PutRequest("/a", []), within: .milliseconds(300))
                        .doubt
                else {
                    throw TestFailure("it is known")
                }
                client.abandon(first, because: doubt.description)
                #expect(try await self.down(&news) == [doubt.description])
                let (second, _) = try await self.up(&news)
                #expect(second.endpoint != first.endpoint)
                // With another leader, if it was that.
                _ = try await second.answer(PutRequest("/a", []))
                // Told late of the one before it.
                client.abandon(first, because: "late")
                _ = try await second.answer(PutRequest("/a", []))
            }
            for member in members { try await member.process.end(by: SIGKILL) }
        }
    }

    @Test(.enabled(if: Certificates.canBeMade, "openssl is not installed"))
    func otherCredentialsAreTakenAtOnce() async throws {
        try await withTemporaryDirectory { directory in
            let ours = try await Certificates(in: directory, named: "ours")
            try await ours.make("etcd", for: "IP:127.0.0.1")
            try await ours.make("a")
            let etcd = try await EtcdProcess(
                in: directory,
                certificates: ours.arguments("etcd", trusting: ours)
            )
            try await self.with([etcd.endpoint], ours.credentials()) { client, news in
                #expect(
                    try await self.down(&news).first?.contains("set engine-certificate") == true
                )
                client.use(try ours.credentials("a"))
                let (first, _) = try await self.up(&news)
                client.use(try ours.credentials("a"))
                #expect(try await self.down(&news).first?.contains("credentials") == true)
                #expect(try await self.up(&news).connection !== first)
            }
            try await etcd.process.end(by: SIGKILL)
        }
    }
}
#endif
