import Glibc
import NIOCore
import NIOPosix
package import StateMachineClient
import Synchronization
import TestSupport

/// What a daemon does with one connection, step by step; after the last step it does nothing.
package enum Step: Sendable {
    /// Sends the text as it is, with or without a newline.
    case send(String)
    /// Waits until another request has been received.
    case awaitRequest
    case close
}

/// Listens at a door and plays the test's scripts, one per connection.
package final class ScriptedDoor: Sendable {
    private struct Guarded {
        var scripts: [[Step]]
        /// The script of each connection after those.
        var others: [Step] = [.close]
        var requests: [String] = []
    }

    private let guarded: Mutex<Guarded>

    package init(_ scripts: [Step]...) {
        self.guarded = Mutex(Guarded(scripts: scripts))
    }

    /// The first connection has that script, and any other the second one.
    package init(first: [Step], others: [Step]) {
        self.guarded = Mutex(Guarded(scripts: [first], others: others))
    }

    /// All requests so far, over all connections.
    package var requests: [String] { self.guarded.withLock { $0.requests } }

    func received(_ request: String) {
        self.guarded.withLock { $0.requests.append(request) }
    }

    /// The script of the next connection; beyond the last one it just closes, unless the test says otherwise.
    func nextScript() -> [Step] {
        self.guarded.withLock { $0.scripts.isEmpty ? $0.others : $0.scripts.removeFirst() }
    }
}

/// A directory of one test's own, containing scripted doors.
package struct ScriptedDaemon {
    package let directory: RuntimeDirectory
    package let client: Client
    private let group: MultiThreadedEventLoopGroup

    /// Opens the doors and runs `body`; nothing is left of them afterwards.
    ///
    /// - Parameters:
    ///   - control: what stands behind the control door; nil leaves its socket out.
    ///   - events: the same for the events door.
    ///   - body: the test.
    /// - Throws: what `body` throws, or ``TestFailure``.
    package static func with(
        control: ScriptedDoor? = nil,
        events: ScriptedDoor? = nil,
        _ body: (ScriptedDaemon) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { path in
            let directory = RuntimeDirectory(path)
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            var client = Client(directory, on: group)
            // For ever: on a busy computer it would ask for a sign of life, on a connection that takes a script meant for
            // another.
            client.patience = .seconds(1_000_000)
            let daemon = ScriptedDaemon(directory: directory, client: client, group: group)
            do {
                if let control { try await daemon.open(.control, control) }
                if let events { try await daemon.open(.events, events) }
                try await body(daemon)
            } catch {
                try await group.shutdownGracefully()
                throw error
            }
            try await group.shutdownGracefully()
        }
    }

    private func open(_ door: Door, _ scripted: ScriptedDoor) async throws {
        _ = try await ServerBootstrap(group: self.group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ScriptPlayer(scripted))
                }
            }
            .bind(unixDomainSocketPath: self.directory.socketPath(of: door))
            .get()
        try self.change(self.directory.socketPath(of: door), to: 0o666)
    }

    private func change(_ path: String, to mode: mode_t) throws {
        guard chmod(path, mode) == 0 else { throw TestFailure("\(path): errno \(errno)") }
    }

    /// Makes a door one that this test's client may not open, even if tests run as root.
    package func lock(_ door: Door) async throws {
        try self.change(self.directory.socketPath(of: door), to: 0)
        try self.change(self.directory.path, to: 0o755)
        guard geteuid() == 0, let symbol = dlsym(dlopen(nil, RTLD_NOW), "setfsuid") else { return }
        typealias SetFileSystemUser = @convention(c) (uid_t) -> CInt
        let address = Int(bitPattern: symbol)
        // Root may open every door. The kernel keeps the user for file access per thread, and only
        // the client's one thread changes it.
        try await self.group.next().submit {
            let set = unsafeBitCast(address, to: SetFileSystemUser.self)
            _ = set(65534)
        }.get()
    }
}

/// Plays one connection's script.
private final class ScriptPlayer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let door: ScriptedDoor
    private var steps: ArraySlice<Step> = []
    private var received: [UInt8] = []
    private var requestsAhead = 0

    init(_ door: ScriptedDoor) {
        self.door = door
    }

    func channelActive(context: ChannelHandlerContext) {
        self.steps = self.door.nextScript()[...]
        self.play(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received += Array(self.unwrapInboundIn(data).readableBytesView)
        while let newline = self.received.firstIndex(of: UInt8(ascii: "\n")) {
            self.door.received(String(decoding: self.received[..<newline], as: UTF8.self))
            self.received.removeSubrange(...newline)
            self.requestsAhead += 1
        }
        self.play(context)
    }

    private func play(_ context: ChannelHandlerContext) {
        while let step = self.steps.first {
            switch step {
            case .send(let text):
                context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
            case .awaitRequest:
                guard self.requestsAhead > 0 else { return }
                self.requestsAhead -= 1
            case .close:
                // A program that was started meanwhile may have inherited the socket: NIO's are not closed for it.
                context.close(mode: .output, promise: nil)
                context.close(promise: nil)
            }
            self.steps = self.steps.dropFirst()
        }
    }
}
