import NIOCore

/// Gives users turns as surplus round robin does, and tracks how far everybody has been written to.
///
/// A request that changes the state is carried out when it is read. Everything else, be it readers' requests or
/// the lines that they are sent, waits in line if there is much of it: one user after the other, and of each as many
/// connections as fit into its turn. What a turn takes too long is taken off the user's next ones. When each user has had
/// one, the loop polls for input: so neither many readers nor many requests keep a set from being read, and no user
/// keeps another from being answered.
///
/// Belongs to the event loop.
final class Turns {
    /// How long a user's turn takes.
    ///
    /// 0.25 ms: some hundred changes written or requests answered, so that the clock and the poll do not show; with eight
    /// users in line a set is read after 2 ms.
    static let length = TimeAmount.microseconds(250)

    /// How long turns are given between two polls for input, and how much of its next turns a user may have used.
    ///
    /// 2 ms: eight turns, and as long as a single answer may take.
    static let most = TimeAmount.milliseconds(2)

    /// How long setters wait at most for other users' readers who are held to limits.
    ///
    /// 5 ms: those have had twenty turns in it.
    private static let patience = TimeAmount.milliseconds(5)

    private let loop: any EventLoop
    private let bell: LoopBell
    /// Has everybody written to once more.
    var flush: () -> Void = {}
    /// Looks a user's resting readers up among the newest changes, until then; returns whether all were looked at.
    var search: (User, NIODeadline) -> Bool = { _, _ in true }

    /// The users whose turn is to come.
    private var users = CircularBuffer<User>()
    /// The user whose turn it is.
    private var user: User?
    /// The connection whose turn it is, and whether a request was served in that turn.
    private var current: (connection: Connection, isServed: Bool)?
    /// When the turn is over.
    private(set) var end = NIODeadline.uptimeNanoseconds(0)
    /// Whether requests are carried out as they are read, until ``end``.
    private var isOpen = false
    /// Whether turns have been given since the loop last polled for input.
    private var hasGiven = false

    /// How long accepting has taken since its last pause, and whether anybody has set since.
    private var accepts = (time: TimeAmount.zero, hasSet: false)

    /// All connections, each at its own ``Standing/index``, those that are awake before the others.
    private(set) var connections: [Connection] = []
    /// How many are awake: the others wait to be found or to be sent something, and no round looks at them.
    private(set) var awake = 0
    /// Kept when nobody is connected any more; nil if nobody waits for that.
    private var empty: EventLoopPromise<Void>?

    /// The newest seq when everybody was last written to.
    private(set) var flushed: UInt64
    /// The newest seq when the current round began, and how many have not been written to in it.
    private var round: (head: UInt64, left: Int) = (0, 0)
    /// The users whose readers are looked up in it.
    private var searched: [User] = []
    /// Whether more has to be written than the current round covers.
    private var isDue = false
    /// The connections whose sets were answered, which are written to first.
    private var answered: [Connection] = []
    /// The connections whose requests wait until everybody has been written to, and how long they wait for readers
    /// who are held to limits.
    private var paused: [Connection] = []
    private var patienceEnds: NIODeadline?

    /// - Parameters:
    ///   - loop: where everything happens.
    ///   - bell: rings when the loop has polled.
    ///   - seq: the newest change, which nobody needs to be told about.
    init(on loop: any EventLoop, bell: LoopBell, after seq: UInt64) {
        self.loop = loop
        self.bell = bell
        self.flushed = seq
        bell.onRing { [unowned self] in
            self.hasGiven = false
            // What has arrived by the same poll, and is yet to be read, comes first, so that there is one round between two
            // polls and not another for what comes after the bell.
            self.loop.assumeIsolated().execute { self.give() }
        }
    }

    /// Goes on behind that change, in another numbering.
    func begin(after seq: UInt64) { (self.flushed, self.round.head) = (seq, seq) }

    func stop() {
        self.bell.close()
        self.flush = {}
        self.search = { _, _ in true }
    }

    // MARK: - Who is there

    func add(_ connection: Connection) {
        connection.standing.index = self.connections.count
        self.connections.append(connection)
        self.wake(connection)
    }

    /// Removes a connection; a round that is under way still expects its turn.
    func remove(_ connection: Connection) {
        self.sleep(connection)
        self.swap(connection.standing.index, self.connections.count - 1)
        self.connections.removeLast()
        connection.standing.index = Standing.nowhere
    }

    /// Has rounds look at the connection, unless it is gone.
    func wake(_ connection: Connection) {
        guard connection.standing.index >= self.awake else { return }
        self.swap(connection.standing.index, self.awake)
        self.awake += 1
    }

    private func sleep(_ connection: Connection) {
        guard connection.standing.index < self.awake else { return }
        self.awake -= 1
        self.swap(connection.standing.index, self.awake)
    }

    private func swap(_ index: Int, _ other: Int) {
        self.connections.swapAt(index, other)
        self.connections[index].standing.index = index
        self.connections[other].standing.index = other
    }

    /// Done when nobody is connected and ``tellIfEmpty()`` has been called.
    func whenEmpty() -> EventLoopFuture<Void> {
        let promise = self.empty ?? self.loop.makePromise(of: Void.self)
        self.empty = promise
        return promise.futureResult
    }

    func tellIfEmpty() {
        if self.connections.isEmpty { self.empty?.succeed() }
    }

    // MARK: - What is told

    /// Notes that something has arrived, so the loop has polled.
    func arrived() { self.hasGiven = false }

    /// Notes that somebody has set.
    func setCame() { self.accepts.hasSet = true }

    /// Notes an accepted connection; returns how long to accept nobody, if somebody sets.
    ///
    /// So those who come and go have a fifth of the time.
    func accepted(since start: NIODeadline) -> TimeAmount? {
        // A connection's beginning and end take three times as long again (measured).
        self.accepts.time = self.accepts.time + 4 * (.now() - start)
        guard self.accepts.time >= .milliseconds(1) else { return nil }
        let (time, hasSet) = exchange(&self.accepts, with: (.zero, false))
        return hasSet ? 4 * time : nil
    }

    // MARK: - Who may

    /// Whether a request of the connection that changes nothing may be carried out now.
    ///
    /// It may in the connection's turn, and as soon as it is read if nobody is in line: those of one reading of the loop
    /// have the time of a turn together.
    func mayServe(_ connection: Connection) -> Bool {
        if let current, current.connection === connection {
            self.current?.isServed = true
            return !current.isServed || !self.isOver
        }
        guard self.users.isEmpty, self.current == nil else { return false }
        guard self.isOpen else {
            self.isOpen = true
            self.end = .now() + Self.length
            self.loop.assumeIsolated().execute { self.isOpen = false }
            return true
        }
        return !self.isOver
    }

    /// Whether what is not urgent has to wait for the next turn.
    private var isOver: Bool { NIODeadline.now() >= self.end }

    // MARK: - Turns

    /// Puts the connection in line, unless it is there already.
    func want(_ connection: Connection) {
        guard self.enqueue(connection), self.current == nil else { return }
        self.loop.assumeIsolated().execute { self.give() }
    }

    /// Puts the connection in line for a caller that has turns given afterwards.
    @discardableResult
    func enqueue(_ connection: Connection) -> Bool {
        guard !connection.standing.isInLine else { return false }
        connection.standing.isInLine = true
        self.wake(connection)
        self.lineUp(connection.user)
        connection.user.waiting.append(connection)
        return true
    }

    /// Puts a user in line who is about to have something to do.
    ///
    /// The one whose turn it is comes again at the end of the line. Who is not held to limits comes before those who are,
    /// and for what is left after that turn also at the end.
    private func lineUp(_ user: User) {
        guard !user.wantsTurn, user !== self.user else { return }
        if user.isPrivileged { self.users.prepend(user) } else { self.users.append(user) }
    }

    /// Puts a connection in line, one of whose readers was found by that change; the round that is under way waits for it
    /// if it is about that change, and still waits for the user.
    func found(_ connection: Connection, at seq: UInt64) {
        if connection.user.search.isInRound, seq <= self.round.head, !connection.standing.isInRound
        {
            connection.standing.isInRound = true
            self.round.left += 1
        }
        if self.user == nil { self.want(connection) } else { self.enqueue(connection) }
    }

    /// Gives each user in line one turn, as far as there is time.
    private func give() {
        guard !self.users.isEmpty, self.current == nil else { return }
        guard !self.hasGiven else { return self.bell.ring() }
        self.hasGiven = true
        var now = NIODeadline.now()
        let last = now + Self.most
        for _ in 0..<self.users.count where now < last {
            let user = self.users.removeFirst()
            now = self.give(user, from: now)
            if user.wantsTurn { self.users.append(user) }
            if let patienceEnds, now >= patienceEnds { self.stopWaitingForReaders() }
        }
        if !self.users.isEmpty { self.bell.ring() }
    }

    /// Gives a user its turn; returns when that ended.
    private func give(_ user: User, from start: NIODeadline) -> NIODeadline {
        var now = start
        guard let time = user.takeTurn() else { return now }
        self.end = start + time
        self.user = user
        if user.search.isDue {
            // The other half is for those who have been found.
            user.search.isDue = !self.search(user, start + .nanoseconds(time.nanoseconds / 2))
            if user.readers.seq >= self.round.head { self.wasSearched(user) }
            now = .now()
        }
        while now < self.end, let connection = user.waiting.popFirst() {
            connection.standing.isInLine = false
            self.current = (connection, false)
            connection.takeTurn()
            now = .now()
        }
        self.current = nil
        self.user = nil
        user.use(now - self.end)
        return now
    }

    // MARK: - Rounds

    /// Begins a round, in which everybody who has something to write gets one turn, and so does everybody of `users`, to
    /// have their resting readers looked up; if one is under way, another follows it.
    func begin(upTo head: UInt64, searching users: [User] = []) {
        guard self.round.left == 0 else {
            self.isDue = true
            return
        }
        self.round.head = head
        for user in users {
            self.lineUp(user)
            user.search = (isDue: true, isInRound: true)
            self.round.left += 1
        }
        self.searched = users
        var index = 0
        while index < self.awake {
            let connection = self.connections[index]
            if connection.wantsTurn {
                connection.standing.isInRound = true
                self.round.left += 1
                self.enqueue(connection)
            } else if connection.isAtRest {
                // Another one has taken its place.
                self.sleep(connection)
                continue
            }
            index += 1
        }
        if self.round.left == 0 { self.endRound() } else { self.give() }
    }

    /// Notes that the connection has been written to.
    func tookTurn(_ connection: Connection) {
        guard connection.standing.isInRound else { return }
        connection.standing.isInRound = false
        self.round.left -= 1
        if self.round.left == 0 { self.endRound() }
    }

    /// Notes that a user's readers have been looked up, or that the round does not wait for that.
    private func wasSearched(_ user: User) {
        guard exchange(&user.search.isInRound, with: false) else { return }
        self.round.left -= 1
        if self.round.left == 0 { self.endRound() }
    }

    private func endRound() {
        self.searched = []
        self.flushed = max(self.flushed, self.round.head)
        if exchange(&self.isDue, with: false) { self.flush() }
        guard !self.paused.isEmpty else { return }
        let paused = exchange(&self.paused, with: [])
        self.patienceEnds = nil
        self.loop.assumeIsolated().execute { for connection in paused { connection.resume() } }
    }

    /// Pauses the connection's requests until everybody has been written to.
    func pause(_ connection: Connection) {
        if self.paused.isEmpty { self.patienceEnds = .now() + Self.patience }
        self.paused.append(connection)
    }

    /// Makes setters wait no longer for other users' readers who are held to limits.
    ///
    /// A `resync` line tells those readers what the ring has lost before they were written to.
    private func stopWaitingForReaders() {
        self.patienceEnds = nil
        let setters = self.paused.map(\.user)
        let mayWait = { (user: User) in
            !user.isPrivileged && !setters.contains { $0 === user }
        }
        for user in self.searched where mayWait(user) { self.wasSearched(user) }
        for connection in self.connections
        where connection.standing.isInRound && mayWait(connection.user) {
            self.tookTurn(connection)
        }
    }

    // MARK: - Out of turn

    /// Notes that a set of the connection was answered after others had their turn.
    func answered(_ connection: Connection) {
        guard !connection.standing.isAnswered else { return }
        connection.standing.isAnswered = true
        self.answered.append(connection)
    }

    /// Writes to those whose sets were answered.
    func writeToAnswered() {
        for connection in exchange(&self.answered, with: []) {
            connection.standing.isAnswered = false
            connection.flush(until: .distantFuture)
        }
    }

    /// Writes to everybody in mid-turn; users held to limits may have to wait, and lose changes.
    func writeToReaders(upTo head: UInt64, searching users: [User]) {
        self.flushed = head
        for user in users { user.early { _ = self.search(user, $0) } }
        for connection in self.connections[..<self.awake] where connection.hasOutput {
            connection.user.early { connection.pump(until: $0) }
        }
    }
}

/// A connection's standing in line; each variable belongs to whoever keeps the list.
struct Standing {
    /// Its index in the list of connections, or ``nowhere``.
    var index = Self.nowhere
    static let nowhere = -1
    /// Whether it waits for its turn.
    var isInLine = false
    /// Whether the current round waits for its turn.
    var isInRound = false
    /// Whether it is listed as one whose set was answered.
    var isAnswered = false
}
