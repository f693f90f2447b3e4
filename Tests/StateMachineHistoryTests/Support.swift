import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport

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
            let after = transitions.last?.seq ?? seq
            let piece = try await withCheckedContinuation { continuation in
                self.read(after: after) { continuation.resume(returning: $0) }
            }.get()
            guard !piece.isEmpty else { return transitions }
            transitions += piece
        }
    }

    /// The next few after `seq`, up to the first that is missing.
    func read(
        after seq: UInt64,
        done: @escaping @Sendable (Result<[RecordedTransition], HistoryFailure>) -> Void
    ) {
        self.read(TransitionQuery(after: seq, before: 1 << 53)) { done($0.map(\.transitions)) }
    }

    func committed(_ group: [Change]) async -> String? {
        await withCheckedContinuation { continuation in
            self.record(group) { continuation.resume(returning: $0) }
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
                schema: StateCoding<State>(),
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

/// Changes the database from another program.
func other(_ directory: String, _ sql: String) throws {
    try Database("\(directory)/statemachine.sqlite", timeout: .seconds(10)).execute(sql)
}

extension AppState {
    var isReady: Bool { self == .ready(true) }
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
