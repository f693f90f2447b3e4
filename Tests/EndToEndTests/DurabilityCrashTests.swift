import Foundation
import Glibc
import Subprocess
import Synchronization
import TestSupport
import Testing

/// The daemon is killed under full load, again and again; no change that anybody was told of is
/// lost.
@Suite(.timeLimit(.minutes(30))) struct DurabilityCrashTests {
    @Test func nothingAcknowledgedIsLost() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        try await withTemporaryDirectory { directory in
            // A small ring, so that old changes come from the disk.
            let arguments = [
                "--state-directory", "\(directory)/state", "--log-level", "error",
                "--ring-changes", "256",
            ]
            let told = Recorder<Known>()
            let watchers = (1...3).map { _ in CrashWatcher() }
            let epochs = Recorder<String>()
            for round in 1...Chance.crashes {
                let answers = Int.random(in: 1...3000, using: &random)
                let ended = try await DaemonProcess.run(in: directory, arguments: arguments) {
                    daemon in
                    epochs.record(try await daemon.epoch())
                    let left = Countdown(answers)
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 1...3 {
                            group.addTask {
                                try await blocking {
                                    try CrashSetter(label: "\(round)-\(number)").run(daemon, told) {
                                        if left.tookLast() { try daemon.send(.kill) }
                                    }
                                }
                            }
                        }
                        for watcher in watchers {
                            group.addTask { try await blocking { try watcher.follow(daemon) } }
                        }
                        try await group.waitForAll()
                    }
                }
                #expect(ended.status == .signaled(SIGKILL), "seed \(seed)")
            }
            #expect(Set(epochs.heard).count == 1, "seed \(seed)")
            let all = CrashWatcher()
            _ = try await DaemonProcess.run(in: directory, arguments: arguments) { daemon in
                #expect(try await daemon.epoch() == epochs.heard.first, "seed \(seed)")
                let head = try #require(try await daemon.ask(\.control, "get").seq)
                for watcher in watchers + [all] {
                    try await blocking { try watcher.follow(daemon, upTo: UInt64(head)) }
                }
                try daemon.send(.terminate)
            }
            let changes = all.changes
            #expect(changes.map(\.seq) == Array(1...UInt64(changes.count)), "seed \(seed)")
            for watcher in watchers { #expect(watcher.changes == changes, "seed \(seed)") }
            let answers = told.heard
            #expect(answers.count >= Chance.crashes, "seed \(seed)")
            let wrong = answers.filter { $0 != changes[safe: Int($0.seq) - 1] }
            #expect(wrong.isEmpty, "seed \(seed)")
        }
    }
}

private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) {
        self.left = Atomic(count)
    }

    /// Takes one; true for the one caller that took the last.
    func tookLast() -> Bool { self.left.subtract(1, ordering: .relaxed).newValue == 0 }
}

/// A change as one client knows it: who made it, and the bytes of its state.
private struct Known: Hashable, Sendable {
    let seq: UInt64
    let bytes: Substring
    let cause: Substring
}

/// Sets as fast as it is answered, until the daemon is gone.
private struct CrashSetter {
    private static let states = [
        #""state":"ready","data":{"value":true}"#,
        #""state":"authentication","data":{"phase":"active"}"#,
        #""state":"dataRetrieval","data":{"phase":"failure"}"#,
    ]

    let label: String

    func run(_ daemon: DaemonProcess, _ told: Recorder<Known>, answered: () throws -> Void) throws {
        let socket = try LineSocket(connectingTo: daemon.control)
        var sent = 0
        var causes: [String] = []
        while true {
            var requests = ""
            while causes.count < 64 {
                sent += 1
                let cause = "\(self.label)-\(sent)"
                causes.append(cause)
                let state = Self.states[sent % 3]
                requests += #"{"op":"set",\#(state),"reenter":true,"cause":"\#(cause)"}"# + "\n"
            }
            guard (try? socket.send(raw: requests)) != nil, let lines = socket.untilKilled() else {
                // The daemon is gone.
                return
            }
            for line in lines {
                let bytes = try line.part(from: "\"seq\":", to: ",\"at\":")
                guard line.hasPrefix(#"{"type":"reply","ok":true,"changed":true"#) else {
                    throw TestFailure("a set was answered \(line)")
                }
                let cause = causes.removeFirst()
                told.record(Known(seq: try line.seq(), bytes: bytes, cause: cause[...]))
                try answered()
            }
        }
    }
}

/// Follows the changes across crashes by its cursor alone.
///
/// `@unchecked Sendable`: used by one thread at a time.
private final class CrashWatcher: @unchecked Sendable {
    private(set) var changes: [Known] = []
    private var cursor: Substring?

    /// Reads until the daemon is gone, or has sent everything up to `end`.
    func follow(_ daemon: DaemonProcess, upTo end: UInt64 = .max) throws {
        while (self.changes.last?.seq ?? 0) < end {
            guard let socket = try? LineSocket(connectingTo: daemon.control) else {
                // Killed before the connection was made.
                return
            }
            if self.cursor == nil {
                guard (try? socket.send("get")) != nil, let reply = socket.untilKilled()?.first
                else { return }
                let cursor = try reply.part(from: "\"cursor\":\"", to: "\"")
                self.cursor = cursor.prefix { $0 != ":" } + ":0"
            }
            guard let cursor, (try? socket.send(#"{"op":"watch","since":"\#(cursor)"}"#)) != nil
            else { return }
            guard try self.read(socket, upTo: end) else { return }
        }
    }

    /// Reads on; returns whether to reconnect because it was too slow for the ring.
    private func read(_ socket: LineSocket, upTo end: UInt64) throws -> Bool {
        while (self.changes.last?.seq ?? 0) < end {
            guard let lines = socket.untilKilled() else { return false }
            for line in lines {
                if line.hasPrefix(#"{"type":"live""#) { continue }
                if line.contains(#""resync":"lagged""#) { return true }
                guard line.hasPrefix(#"{"type":"change""#) else {
                    throw TestFailure("a watch was sent \(line)")
                }
                let seq = try line.seq()
                guard seq == (self.changes.last?.seq ?? 0) + 1 else {
                    throw TestFailure("after \(self.changes.last?.seq ?? 0) came \(line)")
                }
                self.changes.append(
                    Known(
                        seq: seq,
                        bytes: try line.part(from: "\"seq\":", to: ",\"from\":"),
                        cause: try line.part(from: "\"cause\":\"", to: "\"")
                    )
                )
                self.cursor = try line.part(from: "\"cursor\":\"", to: "\"")
            }
        }
        return false
    }
}

extension LineSocket {
    /// The next lines; nil when the daemon is gone, however abruptly.
    fileprivate func untilKilled() -> [String]? {
        while true {
            // A reset, or half a line, is what a killed daemon leaves.
            guard (try? self.waitForInput()) != nil,
                let lines = (try? self.linesSoFar()).flatMap({ $0 })
            else { return nil }
            if !lines.isEmpty { return lines }
        }
    }
}

extension String {
    fileprivate func part(from start: String, to end: String) throws -> Substring {
        guard let from = self.range(of: start),
            let to = self.range(of: end, range: from.upperBound..<self.endIndex)
        else { throw TestFailure("no \(start) in \(self)") }
        return self[from.upperBound..<to.lowerBound]
    }

    fileprivate func seq() throws -> UInt64 {
        let digits = try self.part(from: "\"seq\":", to: ",")
        guard let seq = UInt64(digits) else { throw TestFailure("no seq in \(self)") }
        return seq
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? {
        self.indices.contains(index) ? self[index] : nil
    }
}
