import StateMachineSQLite

extension HistoryDatabase {
    /// Bytes that the write-ahead log's file keeps once everything in it is in the database too.
    ///
    /// 16 MiB: four times its usual length by then. Not tuned.
    static let keptLog = 16 << 20

    /// Pages after which a checkpoint is made: SQLite's own number, whose hook this replaces.
    private static let checkpointPages = 1000

    /// SQLite's own size for a new database.
    private static let pageBytes = 4096

    /// Notes the length of the write-ahead log after each commit.
    func watchLog(of writer: Database) {
        // Neither keeps the other: the connection goes with the history.
        writer.onCommit { [weak self, unowned writer] pages in
            self?.logPages = pages
            // Moves what no reader needs: its result does not affect the commit.
            if pages >= Self.checkpointPages { writer.checkpoint(isComplete: false) }
        }
    }

    /// Why the write-ahead log has grown long; nil while it is not beyond `bytes`, a length that
    /// only a reader can explain.
    func growth(beyond bytes: Int) -> String? {
        guard self.logPages * Self.pageBytes > bytes else { return nil }
        return
            "\(self.path)-wal has more than \(bytes >> 20) MiB and grows: another program has been "
            + "reading the database all the time; end its transaction"
    }

    /// Moves what is in the write-ahead log to the database file, so that a copy of that file alone
    /// is complete; it waits for nobody.
    func checkpoint() throws {
        let writer = try self.writer
        writer.wait(.zero)
        writer.checkpoint(isComplete: true)
        writer.wait(self.timeout)
    }
}
