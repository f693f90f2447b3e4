import Foundation
import Glibc
import StateMachineCore
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

/// A program with other states continues the history of its predecessor, if it says how.
@Suite(.bounded) struct UpgradeTests {
    private enum First: EnumState {
        case booting
        case maintenance(reason: String)
        case serving(guests: Int, since: Int?)

        static var initial: First { .booting }
        static var examples: [First] {
            [.booting, .maintenance(reason: ""), .serving(guests: 0, since: nil)]
        }
    }

    private enum Second: EnumState {
        case booting
        case closed(why: String)
        case serving(customers: Int, order: String?)

        static var initial: Second { .booting }
        static var examples: [Second] {
            [.booting, .closed(why: ""), .serving(customers: 0, order: nil)]
        }
        static var was: [String: [String]] {
            [
                "closed": ["shut", "maintenance"], "closed.why": ["reason"],
                "serving.customers": ["guests"],
            ]
        }
    }

    private enum Third: EnumState {
        case booting
        case open(customers: Int)

        static var initial: Third { .booting }
        static var examples: [Third] { [.booting, .open(customers: 0)] }
        static var lost: Self? { .open(customers: 7) }
    }

    private enum Fourth: EnumState {
        case closed(why: Int)

        static var initial: Fourth { .closed(why: 0) }
        static var examples: [Fourth] { [.closed(why: 0)] }
        static var was: [String: [String]] {
            ["closed": ["maintenance"], "closed.why": ["reason"]]
        }
    }

    @Test func aRenamedStateGoesOnByOneChangeThatSaysSo() async throws {
        try await withTemporaryDirectory { directory in
            let first = try await Self.left(in: directory, .maintenance(reason: "paper"))
            let second = try SQLiteHistory<Second>(directory: directory)
            #expect(second.snapshot.state == .closed(why: "paper"))
            #expect(second.snapshot.seq == 2)
            #expect(second.epoch == first)
            let rows = try await second.all(after: 0)
            #expect(rows.map(\.new.name) == ["maintenance", "closed"])
            #expect(rows.last?.old == rows.first?.new)
            #expect(rows.last?.cause == "another version of the program")
            #expect(second.history.carriedOver?.seq == 2)
        }
    }

    @Test func whatAnOlderVersionRequiredIsKept() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await Self.left(in: directory, .booting)
            try other(
                directory,
                """
                DROP VIEW history;
                ALTER TABLE change DROP COLUMN forced;
                ALTER TABLE change DROP COLUMN host;
                DROP TABLE sharing;
                DROP TABLE kept;
                DROP TABLE numbering;
                DROP TABLE links;
                DROP TABLE timer;
                CREATE TABLE required (
                    name TEXT PRIMARY KEY, uid INTEGER NOT NULL, pid INTEGER NOT NULL, comm TEXT,
                    unit TEXT, since INTEGER NOT NULL, missing INTEGER, request TEXT NOT NULL
                ) STRICT;
                INSERT INTO required VALUES ('door', 7, 8, 'lock', NULL, 9, 10, '{"op":"guard"}');
                DELETE FROM grdb_migrations WHERE identifier >= '5';
                """
            )
            let door = KeptVoter(
                number: 1,
                name: "door",
                peer: Peer(uid: 7, pid: 8, comm: "lock"),
                request: Array(#"{"op":"guard"}"#.utf8),
                since: WallTime(microseconds: 9),
                missing: WallTime(microseconds: 10)
            )
            // From the old table, and from the new one.
            for _ in 1...2 {
                try await Self.end(in: directory) {
                    try SQLiteHistory<First>(directory: directory)
                } look: { history in
                    #expect(history.history.beginning.voters == [door])
                }
            }
        }
    }

    @Test func aRenamedFieldKeepsItsValueAndOneThatIsGoneGoes() async throws {
        try await withTemporaryDirectory { directory in
            let first = try await Self.left(in: directory, .serving(guests: 3, since: 1))
            try await Self.end(in: directory) {
                try SQLiteHistory<Second>(directory: directory)
            } look: { second in
                #expect(second.snapshot.state == .serving(customers: 3, order: nil))
                #expect(second.epoch == first)
            }
            // And it is carried over only once.
            let again = try SQLiteHistory<Second>(directory: directory)
            #expect(again.snapshot.seq == 2)
            #expect(again.history.carriedOver == nil)
        }
    }

    @Test func aStateThatIsGoneLeadsToTheLostOne() async throws {
        try await withTemporaryDirectory { directory in
            let first = try await Self.left(in: directory, .maintenance(reason: "paper"))
            let third = try SQLiteHistory<Third>(directory: directory)
            #expect(third.snapshot.state == .open(customers: 7))
            #expect(third.snapshot.seq == 2)
            #expect(third.epoch == first)
        }
    }

    @Test func aHistoryInWhichNothingHasHappenedBeginsWhereTheProgramDoes() async throws {
        try await withTemporaryDirectory { directory in
            try await Self.end(in: directory) {
                try SQLiteHistory<First>(directory: directory)
            } look: { _ in
            }
            let fourth = try SQLiteHistory<Fourth>(directory: directory)
            #expect(fourth.snapshot.state == .closed(why: 0))
            #expect(fourth.snapshot.seq == 0)
        }
    }

    @Test func whatDoesNotFitIsRefusedForGoodAndNothingIsWritten() async throws {
        try await withTemporaryDirectory { directory in
            _ = try await Self.left(in: directory, .maintenance(reason: "paper"))
            let error = try #require(throws: HistoryError.self) {
                try SQLiteHistory<Fourth>(directory: directory)
            }
            #expect(error.isLasting)
            #expect(error.description.contains("why of closed must be of type integer"))
            #expect(
                error.description.contains("in \"was\" ")
                    && error.description.contains("in \"lost\" ")
            )
            #expect(!error.description.contains("\n"))
            let again = try SQLiteHistory<First>(directory: directory)
            #expect(again.snapshot.state == .maintenance(reason: "paper"))
            #expect(again.snapshot.seq == 1)
        }
    }

    @Test func aFormThatCannotBeIsRefused() async throws {
        try await withTemporaryDirectory { directory in
            let error = try #require(throws: HistoryError.self) {
                try SQLiteHistory<Wrong>(directory: directory)
            }
            #expect(error.isLasting)
            #expect(error.description == "Wrong has a case \"shut\" that Name does not list")
        }
    }

    private enum Wrong: EnumState {
        case open
        case shut

        enum Name: String, CaseIterable { case open }

        static var initial: Wrong { .open }
        static var examples: [Wrong] { [.open, .shut] }
    }

    /// Leaves a history with one change to that state; returns its epoch.
    private static func left(in directory: String, _ state: First) async throws -> String {
        try await Self.end(in: directory) {
            try SQLiteHistory<First>(directory: directory)
        } look: { history in
            try await history.makeMachine().assign(state)
            return history.epoch
        }
    }

    /// Opens a history, looks at it, and releases it, so that another can have the directory.
    private static func end<State: EnumState, Result>(
        in directory: String,
        _ open: () throws -> SQLiteHistory<State>,
        look: (SQLiteHistory<State>) async throws -> Result
    ) async throws -> Result {
        weak var weakHistory: SQLiteHistory<State>?
        let result: Result
        do {
            let history = try open()
            weakHistory = history
            result = try await look(history)
            _ = await history.settled()
        }
        // The committing thread releases it last.
        while weakHistory != nil { await Task.yield() }
        // The lock goes with it, a moment later.
        let lock = Glibc.open("\(directory)/statemachine.lock", O_RDWR | O_CLOEXEC)
        defer { close(lock) }
        while flock(lock, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { await Task.yield() }
        return result
    }
}
