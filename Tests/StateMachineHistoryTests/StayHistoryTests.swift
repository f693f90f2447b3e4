import StateMachineCore
import StateMachineDeclaration
import StateMachineHistory
import StateMachineProtocol
import StateMachineSQLite
import TestSupport
import Testing

/// What a history keeps of stays, and how it obtains it.
@Suite(.bounded) struct StayHistoryTests {
    private static let lamp = """
        start: dark
        states:
          dark: {}
          bright:
            fields: {level: {type: integer, default: 100}}
            after: {1h: dark}
        """

    private typealias Lamp = UntypedHistory

    private func lamp(
        _ directory: String,
        _ schema: Schema? = nil,
        boot: String = "1"
    ) throws -> Lamp {
        let schema = try schema ?? self.schema()
        return try Lamp(directory: directory, schema: schema, options: .init(), boot: boot)
    }

    private func schema() throws -> Schema {
        let reading = DeclarationReading(Array(Self.lamp.utf8))
        return try #require(reading.declaration).schema
    }

    /// The tables as version "1" of the schema created them, with two rows.
    private static let old = """
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('1');
        CREATE TABLE change (
            seq INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            state TEXT NOT NULL,
            data TEXT NOT NULL,
            fromState TEXT,
            fromData TEXT,
            uid INTEGER,
            pid INTEGER,
            cause TEXT
        ) STRICT;
        CREATE TABLE meta (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            epoch TEXT NOT NULL,
            boot TEXT,
            durability TEXT NOT NULL,
            settled INTEGER NOT NULL
        ) STRICT;
        CREATE VIEW history AS
            SELECT
                seq,
                strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch')
                    || printf('.%06dZ', at % 1000000) AS time,
                state, data, fromState, fromData, uid, pid, cause
            FROM change ORDER BY seq;
        INSERT INTO change VALUES (0, 1000000, 'dark', '{}', NULL, NULL, NULL, NULL, NULL);
        INSERT INTO change
            VALUES (1, 2000000, 'bright', '{"level":7}', 'dark', '{}', 0, 5, 'why');
        INSERT INTO meta VALUES (1, 'abc', '1', 'commit', 1);
        PRAGMA journal_mode = WAL;
        """

    @Test func anOlderDatabaseIsBroughtUpToDate() async throws {
        try await withTemporaryDirectory { directory in
            try other(directory, Self.old)
            let schema = try self.schema()
            let history = try self.lamp(directory, schema)
            #expect(history.epoch.description == "abc" && history.loss == nil)
            #expect(history.place.seq == 1 && history.place.stay == 1)
            // The time since then is known only from the wall clock.
            let start = try #require(history.beginning.starts?.newest(of: 1))
            #expect(start.origin == WallTime(microseconds: 2_000_000))
            #expect(start.moment.wall == WallTime(microseconds: 2_000_000))
            #expect(!history.beginning.isFirstInBoot)
            let machine = StateMachine<DeclaredState>(resuming: history.place, recording: history)
            try await machine.assign(TypedValue.state(of: schema.initial))
            let past = try await history.all(after: 0)
            #expect(past.map(\.seq) == [1, 2])
            #expect(past[0].cause == "why" && past[0].by == Peer(uid: 0, pid: 5))
            #expect(past[0].stay == 1 && past[0].due == nil)
            let rows = try Database("\(directory)/statemachine.sqlite")
                .all("SELECT seq || time || state || ifnull(fromState, '') FROM history ORDER BY 1")
            {
                $0.text(0)
            }
            #expect(rows[1] == "11970-01-01T00:00:02.000000Zbrightdark")
            #expect(rows[2]?.hasSuffix("Zdarkbright") == true)
            #expect(rows.count == 3)
            // The next run finds it in that form.
            let again = try self.lamp(try leftovers(of: directory))
            #expect(again.epoch.description == "abc" && again.place.seq == 2)
            let other = try self.lamp(try leftovers(of: directory), boot: "2")
            #expect(other.beginning.isFirstInBoot)
        }
    }

    @Test func aRowHasItsStayAndWhatIsDue() async throws {
        try await withTemporaryDirectory { directory in
            let schema = try self.schema()
            let history = try self.lamp("\(directory)/a", schema)
            let bright = try schema.value("bright", data: nil)
            let dim = try schema.value("bright", data: JSONValue(parsing: #"{"level":9}"#))
            let (now, dark) = (WallTime.now, schema.initial)
            let entered = Change(seq: 1, old: dark, new: bright, at: now, stay: 1)
            let updated = Change(seq: 2, old: bright, new: dim, at: .now, stay: 1)
            #expect(await history.committed([entered, updated]) == nil)
            let past = try await history.all(after: 0)
            #expect(past.map(\.stay) == [1, 1])
            let hour = WallTime(microseconds: now.microseconds + 3_600_000_000).rfc3339
            let due = #"{"state":"dark","data":{},"at":"\#(hour)"}"#
            #expect(past.map(\.due) == [due, due])
            let again = try self.lamp(try leftovers(of: "\(directory)/a"))
            #expect(again.place.stay == 1 && again.place.seq == 2)
            #expect(
                again.beginning.starts?.newest(of: 1)?.moment.uptime
                    == history.beginning.starts?.newest(of: 1)?.moment.uptime
            )
            let left = Change(seq: 3, old: dim, new: dark, at: .now, stay: 3)
            #expect(await history.committed([left]) == nil)
            let newest = try #require(try await history.all(after: 2).first)
            #expect(newest.stay == 3 && newest.due == nil)
        }
    }

    /// What is committed behind a deadline that begins anew counts from there, in one group too.
    @Test func aDeadlineThatBeginsAnewIsRecordedWithItsGroup() async throws {
        try await withTemporaryDirectory { directory in
            let schema = try self.schema()
            let history = try self.lamp("\(directory)/a", schema)
            let bright = try schema.value("bright", data: nil)
            let dim = try schema.value("bright", data: JSONValue(parsing: #"{"level":9}"#))
            let moment = try #require(history.beginning.starts?.clock.moment)
            let now = WallTime(microseconds: moment.wall.microseconds - 1_800_000_000)
            func later(_ minutes: Int64) -> StayStart {
                let uptime = moment.uptime - 1_800_000_000 + minutes * 60_000_000
                let wall = WallTime(microseconds: now.microseconds + minutes * 60_000_000)
                return StayStart(stay: 1, moment: StayMoment(uptime: uptime, wall: wall))
            }
            let entered = Change(seq: 1, old: schema.initial, new: bright, at: now, stay: 1)
            let updated = Change(seq: 2, old: bright, new: dim, at: .now, stay: 1)
            let group: [Record] = [
                .change(entered), .stay(later(5)), .change(updated), .stay(later(7)),
            ]
            #expect(await history.recorded(group) == nil)
            let past = try await history.all(after: 0)
            func hour(after minutes: Int64) -> String {
                let wall = WallTime(microseconds: now.microseconds + (60 + minutes) * 60_000_000)
                return #"{"state":"dark","data":{},"at":"\#(wall.rfc3339)"}"#
            }
            #expect(past.map(\.due) == [hour(after: 0), hour(after: 5)])
            let again = try self.lamp(try leftovers(of: "\(directory)/a"))
            #expect(again.beginning.starts?.newest(of: 1)?.moment.wall == later(7).moment.wall)
            // By itself it is recorded, too.
            #expect(await history.recorded([.stay(later(9))]) == nil)
            let last = try self.lamp(try leftovers(of: "\(directory)/a"))
            #expect(last.beginning.starts?.newest(of: 1)?.moment.wall == later(9).moment.wall)
        }
    }

    /// Of a stay without a deadline nothing is recorded but its rows; an update is not its beginning.
    @Test(arguments: [false, true])
    func aDeadlineThatANewFileBringsCountsFromTheStaysStart(isPruned: Bool) async throws {
        func schema(_ after: String) throws -> Schema {
            let text = "start: idle\nstates: {idle: {}, busy: {fields: {i: integer}\(after)}}\n"
            let reading = DeclarationReading(Array(text.utf8))
            return try #require(reading.declaration).schema
        }
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/a"
            let now = WallTime.now
            func ago(_ minutes: Int64) -> WallTime {
                WallTime(microseconds: now.microseconds - minutes * 60_000_000)
            }
            do {
                let before = try schema("")
                let history = try self.lamp(path, before)
                let busy = try (0...2).map {
                    try before.value("busy", data: JSONValue(parsing: #"{"i":\#($0)}"#))
                }
                let changes = [
                    Change(seq: 1, old: before.initial, new: busy[0], at: ago(40), stay: 1),
                    Change(seq: 2, old: busy[0], new: busy[1], at: ago(30), stay: 1),
                    Change(seq: 3, old: busy[1], new: busy[2], at: ago(5), stay: 1),
                ]
                #expect(await history.committed(changes) == nil)
            }
            let copy = try leftovers(of: path)
            if isPruned { try other(copy, "DELETE FROM change WHERE seq < 2") }
            let history = try self.lamp(copy, schema(", after: {1h: idle}"))
            // What is pruned is not known; the oldest row that is kept is nearer than the newest.
            #expect(history.beginning.starts?.newest(of: 1)?.moment.wall == ago(isPruned ? 30 : 40))
        }
    }

    @Test func aStayThatHasEndedIsNotNotedAnyMore() async throws {
        try await withTemporaryDirectory { directory in
            let schema = try self.schema()
            let history = try self.lamp("\(directory)/a", schema)
            let bright = try schema.value("bright", data: nil)
            let entered = Change(seq: 1, old: schema.initial, new: bright, at: .now, stay: 1)
            #expect(await history.committed([entered]) == nil)
            let late = StayStart(stay: 0, moment: StayMoment(uptime: 0, wall: .now))
            let failure = await withCheckedContinuation { continuation in
                history.record([.stay(late)]) { continuation.resume(returning: $0.failure) }
            }
            #expect(failure == nil)
            let noted = try Database("\(directory)/a/statemachine.sqlite")
                .all("SELECT seq FROM stay") { $0.integer(0) }
            #expect(noted == [1])
        }
    }

    /// What it costs machines that are not declared in a file.
    @Test func aMachineWithoutStaysKeepsNothingOfThem() async throws {
        try await withHistory { history, path in
            try await history.makeMachine().change(1)
            #expect(history.history.beginning.starts == nil)
            let sql = """
                SELECT (SELECT count(*) FROM stay) + (SELECT count(stay) + count(due) FROM change)
                """
            let kept = try Database("\(path)/statemachine.sqlite")
                .first(sql) { $0.integer(0) }
            #expect(kept == 0)
            #expect(try await history.all(after: 0).first?.stay == nil)
        }
    }
}
