import StateMachineSQLite

/// The tables, as they are documented for other readers.
enum DatabaseSchema {
    /// How much of the schema a database has; an older version may have left less.
    enum Extent: Comparable {
        /// No tables, or only changes.
        case changes
        /// Stays as well.
        case stays
        /// The programs that changes came from as well.
        case programs
        /// Whether each was forced as well.
        case forced
        /// Everything.
        case all

        static func of(_ db: Database) throws -> Self {
            guard try db.hasTable("stay") else { return .changes }
            let sql = "SELECT name FROM pragma_table_info('change')"
            let columns = Set(try db.all(sql) { $0.text(0) ?? "" })
            guard columns.contains("comm") else { return .stays }
            guard columns.contains("forced") else { return .programs }
            return columns.contains("host") ? .all : .forced
        }
    }

    /// The steps from one form of the tables to the next; those that were made are noted by number.
    private static let migrations = [
        """
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
        """,
        // Stays: that of each row, and the start of the newest.
        """
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
        """,
        // Declarations of the states, and from which change on; none for states built into a
        // program.
        """
        CREATE TABLE declaration (
            id INTEGER PRIMARY KEY,
            seq INTEGER NOT NULL,
            at INTEGER NOT NULL,
            hash TEXT NOT NULL,
            machine TEXT,
            version TEXT,
            text TEXT NOT NULL
        ) STRICT;
        """,
        // Required guards, by name; the request is the line that asked for one. And the program
        // that a change came from. In older databases the view is there, with fewer columns.
        """
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
        DROP VIEW IF EXISTS history;
        CREATE VIEW history AS
            SELECT
                seq,
                strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch')
                    || printf('.%06dZ', at % 1000000) AS time,
                state, data, fromState, fromData, uid, pid, cause, stay, due,
                comm, unit
            FROM change ORDER BY seq;
        """,
        // All holds and guards, by number, instead of required guards alone: with a name and no end
        // it is a required guard, with both a hold that belongs to no connection. And the numberings that the present
        // one continues, each up to that seq.
        """
        CREATE TABLE kept (
            number INTEGER PRIMARY KEY,
            name TEXT,
            uid INTEGER NOT NULL,
            pid INTEGER NOT NULL,
            comm TEXT,
            unit TEXT,
            since INTEGER NOT NULL,
            missing INTEGER,
            until INTEGER,
            request TEXT NOT NULL
        ) STRICT;
        INSERT INTO kept
            SELECT rowid, name, uid, pid, comm, unit, since, missing, NULL, request
                FROM required;
        DROP TABLE required;
        CREATE TABLE numbering (epoch TEXT PRIMARY KEY, end INTEGER NOT NULL) STRICT;
        """,
        // A row whose `fromState` is null left what the row before it entered. And whether no hold and no guard was asked:
        // 1, else null.
        """
        ALTER TABLE change ADD COLUMN forced INTEGER;
        DROP VIEW IF EXISTS history;
        CREATE VIEW history AS
            SELECT
                change.seq,
                strftime('%Y-%m-%dT%H:%M:%S', change.at / 1000000, 'unixepoch')
                    || printf('.%06dZ', change.at % 1000000) AS time,
                change.state, change.data,
                coalesce(change.fromState, before.state) AS fromState,
                coalesce(change.fromData, before.data) AS fromData,
                change.uid, change.pid, change.cause, change.stay, change.due,
                change.comm, change.unit, change.forced
            FROM change LEFT JOIN change AS before
                ON before.seq = change.seq - 1 AND change.fromState IS NULL
            ORDER BY change.seq;
        """,
        // What is known of the present state's times: of a group's also the change that entered it, and when that was, by the
        // clocks of the boot that `stay` names.
        """
        CREATE TABLE timer (
            key TEXT PRIMARY KEY,
            entered INTEGER,
            value TEXT,
            passed INTEGER NOT NULL,
            uptime INTEGER,
            wall INTEGER,
            origin INTEGER
        ) STRICT;
        """,
        // How far linked machines were followed in the stay that `seq` began: for each link a cursor, the keys of `when`
        // that matched, and those that have yet to happen; as JSON.
        """
        CREATE TABLE links (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            seq INTEGER NOT NULL,
            cursors TEXT NOT NULL,
            matched TEXT NOT NULL,
            due TEXT NOT NULL
        ) STRICT;
        """,
        // The host at which a change was asked for, and what this host knows of a machine that it shares with others: who it is
        // among them, its leases, and by what it knows the engine.
        """
        ALTER TABLE change ADD COLUMN host TEXT;
        DROP VIEW IF EXISTS history;
        CREATE VIEW history AS
            SELECT
                change.seq,
                strftime('%Y-%m-%dT%H:%M:%S', change.at / 1000000, 'unixepoch')
                    || printf('.%06dZ', change.at % 1000000) AS time,
                change.state, change.data,
                coalesce(change.fromState, before.state) AS fromState,
                coalesce(change.fromData, before.data) AS fromData,
                change.uid, change.pid, change.cause, change.stay, change.due,
                change.comm, change.unit, change.forced, change.host
            FROM change LEFT JOIN change AS before
                ON before.seq = change.seq - 1 AND change.fromState IS NULL
            ORDER BY change.seq;
        CREATE TABLE sharing (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            instance TEXT NOT NULL,
            leases TEXT NOT NULL,
            ended TEXT,
            revision INTEGER,
            head INTEGER,
            block INTEGER,
            digest INTEGER,
            begun INTEGER NOT NULL
        ) STRICT;
        """,
    ]

    private static var numbers: [String] { self.migrations.indices.map { "\($0 + 1)" } }

    /// Whether the database has been migrated by this version at most, and not by a newer one.
    static func isKnown(to db: Database) throws -> Bool {
        try self.made(db).isSubset(of: self.numbers)
    }

    /// The number of the last step that was made; 0 if none was.
    static func version(of db: Database) throws -> Int {
        try self.made(db).compactMap { Int($0) }.max() ?? 0
    }

    /// Brings the tables up to date, each step in a transaction of its own.
    static func migrate(_ db: Database) throws {
        // Named after the library that made it in all databases there are.
        try db.execute(
            "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"
        )
        let made = try self.made(db)
        for (number, sql) in zip(self.numbers, self.migrations) where !made.contains(number) {
            try db.transaction(.writing) {
                try db.execute(sql)
                try db.run("INSERT INTO grdb_migrations VALUES (?)", number)
            }
        }
    }

    private static func made(_ db: Database) throws -> Set<String> {
        guard try db.hasTable("grdb_migrations") else { return [] }
        return Set(try db.all("SELECT identifier FROM grdb_migrations") { $0.text(0) ?? "" })
    }
}
