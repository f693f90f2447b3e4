import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

typealias History = SQLiteHistory<AppState>
typealias Machine = StateMachine<AppState>

extension HistoryOptions {
    init(
        _ durability: Durability = .commit,
        keepChanges: Int = 1_000_000,
        keepDays: Int = 30,
        keepBytes: Int = 1 << 30
    ) {
        self.init()
        self.durability = durability
        self.keepChanges = keepChanges
        self.keepDays = keepDays
        self.keepBytes = keepBytes
    }
}

/// The concrete history, beside the typed one that most tests use.
typealias UntypedHistory = StateMachineHistory.History

extension UntypedHistory {
    /// Everything after `seq`, however many pieces it comes in.
    func all(after seq: UInt64) async throws -> [RecordedTransition] {
        var transitions: [RecordedTransition] = []
        while true {
            let query = TransitionQuery(after: transitions.last?.seq ?? seq, before: 1 << 53)
            let piece = try await self.next(query).transitions
            guard !piece.isEmpty else { return transitions }
            transitions += piece
        }
    }

    func committed(_ group: [Change]) async -> String? {
        await self.recorded(group.map { .change($0) })
    }

    func recorded(_ group: [Record]) async -> String? {
        await withCheckedContinuation { continuation in
            self.record(group) { continuation.resume(returning: $0.failure) }
        }
    }
}

extension SQLiteHistory {
    convenience init(
        directory: String,
        options: HistoryOptions = HistoryOptions(),
        boot: String?,
        day: Double = 86_400,
        timeout: Duration = .seconds(2),
        longLog: Int = 64 << 20
    ) throws {
        self.init(
            try UntypedHistory(
                directory: directory,
                schema: StateCoding<State>().schema,
                options: options,
                boot: boot,
                day: day,
                timeout: timeout,
                longLog: longLog
            )
        )
    }

    func all(after seq: UInt64) async throws -> [RecordedTransition] {
        try await self.history.all(after: seq)
    }

    /// Waits until everything handed over, and the pruning that follows from it, is done.
    func settled() async -> String? {
        await withCheckedContinuation { continuation in
            self.history.settle { continuation.resume(returning: $0) }
        }
    }

    func committed(_ group: [Transition<State>]) async -> String? {
        await self.history.committed(group.map(\.change))
    }
}

/// Why there can be no history in that directory.
func openingError(_ directory: String) throws -> String {
    try #require(#expect(throws: HistoryError.self) { try History(directory: directory) })
        .description
}

/// Changes the database from another program.
func other(_ directory: String, _ sql: String) throws {
    try Database("\(directory)/statemachine.sqlite", timeout: .seconds(10)).execute(sql)
}

/// Runs `body` with a history in a directory of its own.
func withHistory(
    _ options: HistoryOptions = HistoryOptions(),
    _ body: (_ history: History, _ path: String) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let path = "\(directory)/a"
        try await body(History(directory: path, options: options), path)
    }
}

/// Runs `body` with what a crash leaves of a history with that many changes, and its epoch.
func withLeftovers(
    of changes: Int,
    _ body: (_ path: String, _ epoch: String) async throws -> Void
) async throws {
    try await withHistory { history, path in
        try await history.makeMachine().change(changes)
        try await body(leftovers(of: path), history.epoch)
    }
}

extension Machine {
    /// Makes so many changes, from `ready(false)` to `ready(true)` and back.
    func change(_ count: Int) async throws {
        for _ in 0..<count { try await self.assign(.ready(self.state != .ready(true))) }
    }
}

extension StateMachine {
    /// Sets the state on behalf of a peer, as a server does, and waits for the outcome.
    func set(_ state: State, cause: String, by peer: Peer) async {
        await withCheckedContinuation { continuation in
            self.machine.propose(
                Move(to: TypedValue(state), cause: cause, by: peer),
                asking: Question()
            ) { _ in continuation.resume() }
        }
    }
}
