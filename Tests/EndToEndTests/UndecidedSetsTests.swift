import StateMachineSQLite
import TestSupport
import Testing

/// A client that sets faster than the disk writes, or than others vote, is not read until that has
/// caught up; nothing is lost.
@Suite(.bounded) struct UndecidedSetsTests {
    /// The protocol's `setsPerConnection` and `undecidedSets`.
    private static let limits = (own: 256, all: 2048)

    @Test func aConnectionThatHasTooManyUndecidedSetsIsNotRead() async throws {
        try await Self.run(setters: 2) { daemon, setters, _ in
            try await Self.withGuard(daemon) { other in
                try setters[0].pushUntilStopped(beside: other)
                // Another connection's are read, and come after what was read from the first.
                try setters[1].push(10)
                try other.turn()
            }
            let order = try await Self.order(setters)
            let head = order.prefix(Self.limits.own + 10)
            #expect(head.prefix(Self.limits.own).allSatisfy { $0 == 0 })
            #expect(head.suffix(10).allSatisfy { $0 == 1 })
        }
    }

    @Test func whileThereAreTooManyUndecidedSetsNobodyWhoHasOneIsRead() async throws {
        let full = Self.limits.all / Self.limits.own
        try await Self.run(setters: full + 2) { daemon, setters, _ in
            try await Self.withGuard(daemon) { other in
                for setter in setters { try setter.pushUntilStopped(beside: other) }
            }
            let order = try await Self.order(setters)
            let head = order.prefix(Self.limits.all + 2)
            let counts = setters.indices.map { index in head.count { $0 == index } }
            #expect(counts == Array(repeating: Self.limits.own, count: full) + [1, 1])
        }
    }

    /// On a busy computer the disk may be held up so long that sets are refused; each still gets
    /// one correct answer.
    @Test func whoSetsFasterThanTheDiskWritesIsNotRead() async throws {
        try await Self.run(setters: 1) { daemon, setters, disk in
            let other = try daemon.connect(\.control)
            try await disk.blocked { try setters[0].pushUntilStopped(beside: other) }
            let seqs = try await setters[0].finish(mayBeRefused: true)
            #expect(seqs == Array(1...seqs.count))
            #expect(try await other.ask("get").seq == seqs.count)
        }
    }

    /// Runs `body` while nothing is decided, because a guard has been asked and does not vote.
    private static func withGuard(
        _ daemon: DaemonProcess,
        _ body: @escaping @Sendable (LineSocket) throws -> Void
    ) async throws {
        let (other, guardian) = (try daemon.connect(\.control), try daemon.connect(\.control))
        let request = #"{"op":"guard","before":["ready"],"timeoutMs":60000}"#
        #expect(try await guardian.ask(request).ok == true)
        try await blocking { try body(other) }
        guardian.vanish()
    }

    /// Lets all setters finish; returns whose each change was, oldest first.
    private static func order(_ setters: [PushingSetter]) async throws -> [Int] {
        let seqs = try await withThrowingTaskGroup(of: [(seq: Int, setter: Int)].self) { group in
            for (index, setter) in setters.enumerated() {
                group.addTask { try await setter.finish().map { ($0, index) } }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }.sorted { $0.seq < $1.seq }
        #expect(seqs.map(\.seq) == Array(1...(setters.count * PushingSetter.count)))
        return seqs.map(\.setter)
    }

    private static func run(
        setters: Int,
        _ body: @escaping @Sendable (DaemonProcess, [PushingSetter], BusyDisk) async throws -> Void
    ) async throws {
        try await DaemonProcess.run(isDurable: true) { daemon in
            let setters = try (0..<setters).map { _ in
                PushingSetter(try daemon.connect(\.control))
            }
            try await body(daemon, setters, BusyDisk(of: daemon.state))
        }
    }
}

/// Sends sets until the daemon reads no more of them.
///
/// `@unchecked Sendable`: a test uses it from one task at a time.
private final class PushingSetter: @unchecked Sendable {
    /// More than a connection's limit of undecided sets plus what socket and daemon buffer.
    static let count = 700

    private let socket: LineSocket
    private var requests: ArraySlice<UInt8>
    private static let cause = String(repeating: "why ", count: 50)

    init(_ socket: LineSocket) {
        socket.limitSendBuffer(to: 4096)
        self.socket = socket
        let requests = (1...Self.count).map { number in
            #"{"op":"set","id":\#(number),"state":"ready","data":{"value":true},"reenter":true,"#
                + #""cause":"\#(Self.cause)"}"# + "\n"
        }
        self.requests = Array(requests.joined().utf8)[...]
    }

    /// Sends the next `count` sets.
    func push(_ count: Int) throws {
        for _ in 1...count {
            let end = try #require(self.requests.firstIndex(of: UInt8(ascii: "\n")))
            try self.socket.send(raw: String(decoding: self.requests[...end], as: UTF8.self))
            self.requests = self.requests[(end + 1)...]
        }
    }

    /// Sends until the daemon reads nothing more, while it still answers others.
    func pushUntilStopped(beside other: LineSocket) throws {
        var taken = true
        while taken {
            taken = false
            while try self.pushSome() { taken = true }
            try other.turn()
        }
        #expect(!self.requests.isEmpty)
    }

    private func pushSome() throws -> Bool {
        let count = try self.socket.sendNow(self.requests)
        self.requests = self.requests.dropFirst(count)
        return count > 0
    }

    /// Sends the rest, and returns the seqs of all changes, which are answered in order.
    func finish(mayBeRefused: Bool = false) async throws -> [Int] {
        let (socket, rest) = (self.socket, String(decoding: self.requests, as: UTF8.self))
        async let sending: Void = blocking { try socket.send(raw: rest) }
        var seqs: [Int] = []
        for number in 1...Self.count {
            let reply = try await socket.next()
            try #require(reply.int("id") == number, "\(reply)")
            if mayBeRefused, reply.error == "internal" { continue }
            try #require(reply.ok == true, "\(reply)")
            seqs.append(try #require(reply.seq))
        }
        try await sending
        #expect(seqs == seqs.sorted())
        return seqs
    }
}

/// Another program holds up the daemon's database; after two seconds sets are refused.
private struct BusyDisk: Sendable {
    private let database: Database

    init(of directory: String) throws {
        self.database = try Database("\(directory)/statemachine.sqlite", timeout: .seconds(10))
    }

    /// Runs `body`, on a thread that may block, while nothing can be committed.
    func blocked(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await blocking {
            try self.database.execute("BEGIN IMMEDIATE")
            try body()
            try self.database.execute("ROLLBACK")
        }
    }
}

extension LineSocket {
    /// Makes the daemon's loop turn a few times.
    fileprivate func turn() throws {
        for _ in 1...5 {
            try self.send("ping")
            #expect(try self.readLine() != nil)
        }
    }
}
