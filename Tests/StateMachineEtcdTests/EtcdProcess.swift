#if Cluster
import Foundation
import Glibc
import NIOCore
import NIOPosix
import StateMachineEtcd
import Subprocess
import TestSupport

/// A real etcd of one member, on loopback, with its data in a test's directory.
struct EtcdProcess: Sendable {
    /// Whether there is one, and its tool: Debian's packages etcd-server and etcd-client.
    static let isInstalled = ["etcd", "etcdctl"].allSatisfy { Self.program($0) != nil }

    static func program(_ name: String) -> String? {
        (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
            .map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 }
    }

    let endpoint: EtcdEndpoint
    let process: SpawnedProcess

    var pid: pid_t { self.process.pid }

    /// Starts it, and waits until it serves.
    ///
    /// `certificates` are arguments about its clients' side; nil: nothing is encrypted. Who loses a port before it is used tries others.
    init(
        in directory: String,
        certificates: [String]? = nil,
        arguments: [String] = []
    ) async throws {
        var left = 3
        while true {
            do {
                self = try await Self.started(directory, certificates, arguments)
                return
            } catch  where left > 1 {
                left -= 1
                try? FileManager.default.removeItem(atPath: "\(directory)/one")
            }
        }
    }

    private static func started(
        _ directory: String,
        _ certificates: [String]?,
        _ arguments: [String]
    ) async throws -> EtcdProcess {
        let ports = try Self.freePorts(2)
        let client = "\(certificates == nil ? "http" : "https")://127.0.0.1:\(ports[0])"
        let etcd = try EtcdProcess(
            "one",
            in: directory,
            client: client,
            peer: ports[1],
            cluster: "one=http://127.0.0.1:\(ports[1])",
            arguments: (certificates ?? []) + arguments
        )
        try await etcd.isServing()
        return etcd
    }

    /// Starts again what has ended there.
    init(in directory: String, at endpoint: EtcdEndpoint) async throws {
        let peer = try Self.freePorts(1)[0]
        try self.init(
            "one",
            in: directory,
            client: "\(endpoint)",
            peer: peer,
            cluster: "one=http://127.0.0.1:\(peer)",
            arguments: []
        )
        // Once in its log already.
        try await self.isServing()
    }

    /// Kills it, and has another serve there what a snapshot has, in a directory of its own.
    func putBack(_ snapshot: String, in directory: String) async throws -> EtcdProcess {
        try await self.process.end(by: SIGKILL)
        try await self.etcdctl(
            "snapshot",
            "restore",
            snapshot,
            "--data-dir",
            "\(directory)/restored/one"
        )
        return try await EtcdProcess(in: "\(directory)/restored", at: self.endpoint)
    }

    private init(
        _ name: String,
        in directory: String,
        client: String,
        peer: UInt16,
        cluster: String,
        arguments: [String]
    ) throws {
        let peer = "http://127.0.0.1:\(peer)"
        self.endpoint = try EtcdEndpoint(client)
        self.process = try SpawnedProcess(
            [
                "etcd", "--name", name, "--data-dir", "\(directory)/\(name)",
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", cluster, "--enable-grpc-gateway=false",
            ] + arguments,
            output: "\(directory)/\(name).log"
        )
    }

    private func isServing() async throws {
        try await self.process.wait(for: "ready to serve client requests")
    }

    /// Three members, which serve; they end when they are released.
    static func cluster(in directory: String) async throws -> [EtcdProcess] {
        let ports = try Self.freePorts(6)
        let cluster = (0..<3).map { "m\($0)=http://127.0.0.1:\(ports[$0])" }.joined(separator: ",")
        let members = try (0..<3).map { number in
            try EtcdProcess(
                "m\(number)",
                in: directory,
                client: "http://127.0.0.1:\(ports[3 + number])",
                peer: ports[number],
                cluster: cluster,
                arguments: ["--heartbeat-interval", "50", "--election-timeout", "500"]
            )
        }
        for member in members { try await member.isServing() }
        return members
    }

    /// Ports that nobody has; somebody may take one before it is used, which ends etcd.
    static func freePorts(_ count: Int) throws -> [UInt16] {
        let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        defer { for socket in sockets { close(socket) } }
        return try sockets.map { try self.bind($0) }
    }

    /// Gives a socket a port of loopback.
    static func bind(_ socket: CInt) throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else { throw TestFailure("no port: errno \(errno)") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Runs `body` beside one, in a directory of its own, and ends it.
    static func run(
        certificates: (@Sendable (String) async throws -> [String])? = nil,
        arguments: [String] = [],
        _ body: (EtcdProcess, String) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let etcd = try await EtcdProcess(
                in: directory,
                certificates: try await certificates?(directory),
                arguments: arguments
            )
            do {
                try await body(etcd, directory)
            } catch {
                _ = try? await etcd.process.end(by: SIGKILL)
                throw error
            }
            // Stopped or not.
            try await etcd.process.end(by: SIGKILL)
        }
    }

    /// Runs etcdctl against it.
    @discardableResult
    func etcdctl(_ arguments: String...) async throws -> String {
        try await self.etcdctl(arguments: arguments)
    }

    @discardableResult
    func etcdctl(arguments: [String]) async throws -> String {
        let result = try await runTool(
            .name("etcdctl"),
            ["--endpoints", "\(self.endpoint)"] + arguments,
            environment: ["ETCDCTL_API": "3"]
        )
        guard result.status == .exited(0) else { throw TestFailure("etcdctl: \(result.errors)") }
        return result.output
    }
}

/// How long a call may take that is to be answered.
let patience = Duration.milliseconds(Int(longestWait))

extension EtcdConnection {
    /// A connection that is there for that long.
    static func with<Result: Sendable>(
        _ endpoint: EtcdEndpoint,
        _ credentials: EtcdCredentials? = nil,
        within limit: Duration = patience,
        _ body: (EtcdConnection) async throws -> Result
    ) async throws -> Result {
        let connection = try await EtcdConnection.open(
            endpoint,
            credentials,
            on: MultiThreadedEventLoopGroup.singleton.next(),
            within: limit
        ).get()
        defer { connection.close() }
        return try await body(connection)
    }

    /// What has become of a call.
    func call<Request: EtcdRequest>(
        _ request: Request,
        within limit: Duration = patience
    ) async -> Outcome<Request.Answer> {
        await withCheckedContinuation { continuation in
            self.call(request, within: limit) { continuation.resume(returning: $0) }
        }
    }

    /// The answer of a call that has one.
    func answer<Request: EtcdRequest>(_ request: Request) async throws -> Request.Answer {
        switch await self.call(request) {
        case .answered(let answer): return answer
        case .refused(let refusal): throw refusal
        case .unknown(let doubt): throw doubt
        }
    }

    /// Begins a watch whose news come one after the other.
    func news(of watch: EngineWatch) -> AsyncStream<EngineWatch.News>.AsyncIterator {
        let (stream, continuation) = AsyncStream.makeStream(of: EngineWatch.News.self)
        let running = self.watch(watch) { news in
            continuation.yield(news)
            if case .ended = news { continuation.finish() }
        }
        continuation.onTermination = { _ in running.stop() }
        return stream.makeAsyncIterator()
    }
}

extension Outcome {
    var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
    var doubt: Doubt? { if case .unknown(let doubt) = self { doubt } else { nil } }
    var answer: Answer? { if case .answered(let answer) = self { answer } else { nil } }
}

extension String {
    var octets: [UInt8] { Array(self.utf8) }
}
#endif
