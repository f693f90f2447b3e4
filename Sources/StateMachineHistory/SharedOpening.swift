import StateMachineCore
import StateMachineProtocol
import StateMachineSQLite

/// A cache of a shared machine that has been opened: where this host was.
struct SharedOpening {
    let database: HistoryDatabase
    let sharing: KeptSharing
    /// Nil if it has not seen the machine yet.
    let left: SharedPosition?
    /// The oldest transition that is kept; one past the newest if there is none.
    let oldest: UInt64
    /// The database in whose place this one is; nil if there was none.
    let aside: StateDirectory.Aside?
    /// Why the disk accepts no writes; nil if it does.
    let trouble: String?

    init(
        in path: String,
        schema: Schema,
        options: HistoryOptions,
        boot: String?,
        timeout: Duration
    ) throws {
        self = try HistoryDatabase.open(
            in: path,
            hasStays: schema.hasStays,
            options: options,
            boot: boot,
            timeout: timeout
        ) { try Self($0, schema, after: $1) }
    }

    private init(
        _ database: HistoryDatabase,
        _ schema: Schema,
        after aside: StateDirectory.Aside?
    ) throws {
        let past = try database.past()
        self.database = database
        self.aside = aside
        self.sharing = past.sharing ?? KeptSharing()
        if let newest = past.newest {
            // Of a machine that was this host's alone the others know nothing.
            guard let epoch = past.epoch, let engine = past.sharing?.engine else {
                throw ForeignDatabase()
            }
            self.left = SharedPosition(newest, in: epoch, knowing: engine, past.sharedTimes)
            self.oldest = max(past.oldest ?? newest.seq + 1, self.sharing.begun + 1)
        } else {
            (self.left, self.oldest) = (nil, 1)
        }
        let (left, sharing) = (self.left, self.sharing)
        self.trouble = try database.trouble {
            try database.begin(at: left, declaredBy: schema, noting: sharing)
        }
    }
}

extension HistoryDatabase.Past {
    /// The times of the present stay, as a host of a shared machine has recorded them; nil if it has not.
    fileprivate var sharedTimes: StayTimes? {
        guard let start = self.stay?.start else { return nil }
        return StayTimes(of: start.stay, since: start.moment.wall, knowing: self.times) { group in
            start.start(ofGroupAt: group).moment.wall
        }
    }
}

extension HistoryDatabase {
    /// Begins where a host of a shared machine is; nil: that is not known yet.
    func begin(
        at position: SharedPosition?,
        declaredBy schema: Schema,
        noting sharing: KeptSharing
    ) throws {
        try self.begin(
            with: Beginning(
                start: position.map {
                    Beginning.Start(
                        newest: $0.newest,
                        epoch: $0.epoch,
                        declaration: schema.declaration
                    )
                },
                sharing: sharing,
                times: schema.hasStays ? position?.times : nil
            )
        )
    }
}
