import GRDB

/// The tables, as they are documented for other readers.
enum Schema {
    /// How much of the schema a database has; an older version may have left less.
    enum Extent: Int, Comparable {
        /// No tables, or only changes.
        case changes
        /// Stays as well.
        case stays
        /// Everything.
        case all

        static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        static func of(_ db: Database) throws -> Self {
            guard try db.tableExists("stay") else { return .changes }
            let columns = try db.columns(in: "change")
            return columns.contains { $0.name == "comm" } ? .all : .stays
        }
    }

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
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
                    """
            )
        }
        // Stays: that of each row, and the start of the newest.
        migrator.registerMigration("2") { db in
            try db.execute(
                sql: """
                    ALTER TABLE change ADD COLUMN stay INTEGER;
                    ALTER TABLE change ADD COLUMN due TEXT;
                    CREATE TABLE stay (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        seq INTEGER NOT NULL,
                        boot TEXT,
                        uptime INTEGER NOT NULL,
                        wall INTEGER NOT NULL,
                        origin INTEGER
                    ) STRICT;
                    DROP VIEW history;
                    CREATE VIEW history AS
                        SELECT
                            seq,
                            strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch')
                                || printf('.%06dZ', at % 1000000) AS time,
                            state, data, fromState, fromData, uid, pid, cause, stay, due
                        FROM change ORDER BY seq;
                    """
            )
        }
        // Declarations of the states, and from which change on; none for states built into a
        // program.
        migrator.registerMigration("3") { db in
            try db.execute(
                sql: """
                    CREATE TABLE declaration (
                        id INTEGER PRIMARY KEY,
                        seq INTEGER NOT NULL,
                        at INTEGER NOT NULL,
                        hash TEXT NOT NULL,
                        machine TEXT,
                        version TEXT,
                        text TEXT NOT NULL
                    ) STRICT;
                    """
            )
        }
        // Required guards, by name; the request is the line that asked for one. And the program
        // that a change came from.
        migrator.registerMigration("4") { db in
            try db.execute(
                sql: """
                    CREATE TABLE required (
                        name TEXT PRIMARY KEY,
                        uid INTEGER NOT NULL,
                        pid INTEGER NOT NULL,
                        comm TEXT,
                        unit TEXT,
                        since INTEGER NOT NULL,
                        missing INTEGER,
                        request TEXT NOT NULL
                    ) STRICT;
                    ALTER TABLE change ADD COLUMN comm TEXT;
                    ALTER TABLE change ADD COLUMN unit TEXT;
                    DROP VIEW history;
                    CREATE VIEW history AS
                        SELECT
                            seq,
                            strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch')
                                || printf('.%06dZ', at % 1000000) AS time,
                            state, data, fromState, fromData, uid, pid, cause, stay, due,
                            comm, unit
                        FROM change ORDER BY seq;
                    """
            )
        }
        return migrator
    }
}
