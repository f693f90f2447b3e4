import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

@Suite(.bounded) struct RestartTests {
    @Test func aMachineGoesOnWhereItStopped() async throws {
        try await withHistory { history, first in
            #expect(history.snapshot.seq == 0)
            let machine = history.makeMachine()
            await machine.set(
                .authentication(.active),
                cause: "login",
                by: Peer(uid: 7, pid: 8, comm: "log\"in", unit: "login.service")
            )
            try await machine.assign(.ready(true))
            let again = try History(directory: try leftovers(of: first))
            #expect(again.epoch == history.epoch)
            #expect(again.snapshot == machine.snapshot)
            #expect(again.history.oldest == 1)
            let resumed = again.makeMachine()
            try await resumed.assign(.ready(false))
            #expect(resumed.snapshot.seq == 3)
            let past = try await again.all(after: 0)
            #expect(past.map(\.seq) == [1, 2, 3])
            #expect(past[0].by == Peer(uid: 7, pid: 8, comm: "log\"in", unit: "login.service"))
            #expect(past[0].cause == "login")
            #expect(past[0].old == .init(name: "ready", data: #"{"value":false}"#))
            #expect(past[1].new == .init(name: "ready", data: #"{"value":true}"#))
            #expect(past[1].at == machine.snapshot.at)
            #expect(past[1].by == nil)
        }
    }

    @Test func textsAreReadToTheirEnd() async throws {
        try await withHistory { history, first in
            let cause = "before\u{0}after"
            try await history.makeMachine().assign(.ready(true), cause: cause)
            #expect(try await history.all(after: 0).map(\.cause) == [cause])
            // The newest one, with which the next run begins, is read separately.
            let again = try History(directory: try leftovers(of: first))
            #expect(try await again.all(after: 0).map(\.cause) == [cause])
            let machine = again.makeMachine()
            try await machine.assign(.ready(false), cause: "")
            #expect(try await again.all(after: 1).map(\.cause) == [""])
        }
    }

    @Test(
        arguments: [
            (HistoryOptions.Durability.commit, "2", false, false),
            (.commit, "2", true, true),
            (.commit, "1", false, true),
            (.commit, nil, false, false),
            (.disk, "2", false, true),
        ] as [(HistoryOptions.Durability, String?, Bool, Bool)]
    )
    func onlyACrashThatMayHaveCostSomethingBeginsAnEpoch(
        _ durability: HistoryOptions.Durability,
        _ boot: String?,
        _ isSettled: Bool,
        _ isSame: Bool
    ) async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let history = try History(
                directory: first,
                options: HistoryOptions(durability),
                boot: "1"
            )
            try await history.makeMachine().assign(.ready(true))
            if isSettled { #expect(await history.settled() == nil) }
            let second = try leftovers(of: first)
            let again = try History(directory: second, options: HistoryOptions(), boot: boot)
            #expect((again.epoch == history.epoch) == isSame)
            // What both have can be resumed all the same.
            let ended = Cursor(epoch: history.history.epoch, seq: 1)
            #expect(again.history.earlier == (isSame ? [] : [ended]))
            #expect(again.loss == nil)
            #expect(again.snapshot.seq == 1)
            // The new run has recorded itself, so what happened before it no longer counts.
            let third = try History(
                directory: try leftovers(of: second),
                options: HistoryOptions(),
                boot: "3"
            )
            #expect(third.epoch == again.epoch)
            #expect(third.history.earlier == again.history.earlier)
        }
    }

    @Test func whatIsCommittedAfterSettlingCountsAsUnsettled() async throws {
        try await withTemporaryDirectory { directory in
            let first = "\(directory)/a"
            let history = try History(directory: first, options: HistoryOptions(.commit), boot: "1")
            let machine = history.makeMachine()
            try await machine.assign(.ready(true))
            #expect(await history.settled() == nil)
            try await machine.assign(.ready(false))
            let again = try History(
                directory: try leftovers(of: first),
                options: HistoryOptions(),
                boot: "2"
            )
            #expect(again.epoch != history.epoch)
        }
    }

    @Test func aStateInAnotherFormBeginsAnEpoch() async throws {
        try await withLeftovers(of: 1) { copy, epoch in
            try other(copy, #"UPDATE change SET data = '{ "value": true }' WHERE seq = 1"#)
            let again = try History(directory: copy)
            #expect(again.epoch != epoch)
            #expect(again.snapshot == Snapshot(seq: 1, state: .ready(true), at: again.snapshot.at))
            let newest = try #require(try await again.all(after: 0).last)
            #expect(newest.new.data == #"{"value":true}"#)
        }
    }
}
