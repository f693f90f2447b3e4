import NIOCore
import StateMachineProtocol

/// Decides whose turn it is: what changes nothing is done in slices, between polls for input.
///
/// A request that changes the state is carried out when it is read. Everything else, be it readers'
/// requests or the lines that they are sent, waits in line if there is much of it: the user who has
/// taken the least time goes first, and a user's connections one after the other. So neither many
/// readers nor many requests keep a set from being read, and no user keeps another from being
/// answered.
///
/// Belongs to the event loop.
final class TurnScheduler {
    /// How long a slice takes while other users set or wait for their turn.
    ///
    /// 25 µs: a third of a set's round trip, and ten times what a poll for input takes.
    private static let slice = TimeAmount.microseconds(25)

    /// How long the loop rests after a slice, as a multiple of the time that others had in it.
    ///
    /// It rests if somebody has set since the slice before, and then only polls for input. 4: so
    /// that those who set have four fifths of the time, some of which goes into reading what the
    /// others send.
    private static let restFactor: Int64 = 4

    /// How many connections of a user have their turns between two looks at the clock.
    ///
    /// That is if no other user is in line and the connections only have changes to write. 8: a
    /// look takes a tenth of what writing a change to a reader takes. A turn that takes long ends
    /// by itself.
    private static let unwatchedTurns = 8

    /// Setters wait for readers for at most this fraction of the time since they last waited.
    ///
    /// A quarter, and 20 ms at most.
    private static let deadlineDivisor: Int64 = 4
    private static let longestDeadline = TimeAmount.milliseconds(20)

    /// How long a slice takes while no user but its own sets or waits for a turn.
    ///
    /// A millisecond: the loop's own work does not show, and a newcomer does not notice the delay.
    private static let longSlice = TimeAmount.milliseconds(1)

    /// How long it is remembered that somebody has set, or that another user has waited.
    ///
    /// 20 ms: whoever does either more than fifty times a second counts as always there.
    private static let memory = TimeAmount.milliseconds(20)

    private let loop: any EventLoop
    private let bell: LoopBell
    /// Called when setters have waited for as long as limited users may delay them.
    var deadlinePassed: () -> Void = {}

    /// The users who have connections in line.
    private var users: [User] = []
    /// The connection whose turn it is, and whether a request was served in that turn.
    private var current: (connection: Connection, isServed: Bool)?
    /// When the slice is over.
    private var end = NIODeadline.uptimeNanoseconds(0)
    /// Whether requests are carried out as they are read, until the slice is over.
    private var isOpen = false
    /// Whether a slice has run since the loop last polled for input.
    private var hasSliced = false
    /// Whether the loop's time belongs to those who set, after a slice that may have delayed them.
    private var isResting = false

    /// Whether somebody has set since a slice was last measured out, whether several users have,
    /// and how long their sets took.
    private var sets = Sets()
    private struct Sets {
        var came = false
        var areOfSeveral = false
        var time = TimeAmount.zero
    }
    /// Whether setters wait until everybody has been written to.
    private var isHurried = false
    /// When limited users stop delaying the setters.
    private var deadline: NIODeadline?
    /// When setters last stopped waiting.
    private var hurriedLast = NIODeadline.now()

    /// How long accepting has taken since its last pause.
    private var accepts = TimeAmount.zero

    private var lastSet: NIODeadline?
    /// The user who set last.
    private var setter: User?
    private var lastUser: User?
    private var lastChange: NIODeadline?

    init(on loop: any EventLoop, bell: LoopBell) {
        self.loop = loop
        self.bell = bell
        bell.onRing { [unowned self] in
            self.hasSliced = false
            self.slice()
        }
    }

    func stop() {
        self.bell.close()
        self.deadlinePassed = {}
    }

    // MARK: - What is told

    /// Makes those who set wait until everybody has been written to.
    func hurry() {
        guard !self.isHurried else { return }
        self.isHurried = true
        let now = NIODeadline.now()
        let part = TimeAmount.nanoseconds(
            (now - self.hurriedLast).nanoseconds / Self.deadlineDivisor
        )
        self.deadline = now + max(min(part, Self.longestDeadline), Self.longSlice)
    }

    /// Ends that wait.
    func calm() {
        self.isHurried = false
        self.deadline = nil
        self.hurriedLast = .now()
    }

    /// Notes that something has arrived, so the loop has polled.
    func arrived() { self.hasSliced = false }

    /// Notes that a user has set.
    func setCame(from user: User) {
        self.sets.came = true
        guard self.setter !== user else { return }
        self.sets.areOfSeveral = self.setter != nil
        self.setter = user
    }

    /// Notes how long carrying out sets has taken.
    func setsTook(_ time: TimeAmount) { self.sets.time = self.sets.time + time }

    /// Notes an accepted connection; returns how long to accept nobody, if somebody sets.
    ///
    /// So those who come and go have a fifth of the time too.
    func accepted(since start: NIODeadline) -> TimeAmount? {
        let now = NIODeadline.now()
        // A connection's beginning and end take three times as long again (measured).
        self.accepts = self.accepts + 4 * (now - start)
        guard self.sets.came || self.hasSetters(at: now) else {
            self.accepts = .zero
            return nil
        }
        guard self.accepts >= Self.longSlice else { return nil }
        return Self.restFactor * exchange(&self.accepts, with: .zero)
    }

    // MARK: - Who may

    /// Whether a request of the connection that changes nothing may be carried out now.
    ///
    /// It may in the connection's turn, and as soon as it is read if nobody is in line.
    func mayServe(_ connection: Connection) -> Bool {
        if let current = self.current, current.connection === connection {
            self.current?.isServed = true
            return !current.isServed || !self.isOver
        }
        guard self.users.isEmpty, !self.isResting, self.current == nil else { return false }
        guard self.isOpen else {
            self.isOpen = true
            let now = NIODeadline.now()
            self.end = now + self.length(at: now, for: connection.user)
            self.loop.assumeIsolated().execute { self.isOpen = false }
            return true
        }
        return !self.isOver
    }

    /// Whether what is not urgent has to wait for the next slice.
    var isOver: Bool { NIODeadline.now() >= self.end }

    // MARK: - The line

    /// Puts the connection in line, unless it is there already.
    func want(_ connection: Connection) {
        guard self.enqueue(connection), self.current == nil else { return }
        self.loop.assumeIsolated().execute { self.slice() }
    }

    /// Puts the connection in line for a caller that runs a slice afterwards.
    @discardableResult
    func enqueue(_ connection: Connection) -> Bool {
        guard !connection.standing.isInLine else { return false }
        connection.standing.isInLine = true
        let user = connection.user
        if user.waiting.isEmpty {
            // A user who was away has not saved up any time.
            let least = self.users.lazy.map(\.used).min() ?? user.used
            user.used = max(user.used, least)
            self.users.append(user)
        }
        user.waiting.append(connection)
        return true
    }

    /// Gives turns for the length of a slice.
    func slice() {
        guard !self.users.isEmpty, !self.isResting || self.isHurried, self.current == nil else {
            return
        }
        guard !self.hasSliced else { return self.bell.ring() }
        self.hasSliced = true
        let start = NIODeadline.now()
        let setCame = self.sets.came
        let length = self.length(at: start)
        self.end = start + length
        var now = start
        var others = TimeAmount.zero
        while now < self.end, let user = self.next(at: now) {
            if let deadline = self.deadline, now >= deadline {
                self.deadline = nil
                self.deadlinePassed()
            }
            let count = self.users.count == 1 ? Self.unwatchedTurns : 1
            for _ in 0..<min(count, user.waiting.count) {
                let connection = user.waiting.removeFirst()
                let isReader = !connection.hasUnserved
                if user.waiting.isEmpty { self.users.removeAll { $0 === user } }
                connection.standing.isInLine = false
                self.current = (connection, false)
                connection.takeTurn()
                guard isReader else { break }
            }
            self.current = nil
            let then = NIODeadline.now()
            user.used += (then - now).nanoseconds
            if user !== self.setter { others = others + (then - now) }
            now = then
        }
        guard !self.users.isEmpty else { return }
        // However long the slice was, anybody who wanted to set has waited for its end.
        guard !self.isHurried, setCame || self.hasSetters(at: start) else {
            return self.bell.ring()
        }
        let overtime = (now - start) - length
        let rest = max(
            setCame ? Self.restFactor * others : .zero,
            overtime > length ? overtime : .zero
        )
        guard rest > .zero else { return self.bell.ring() }
        self.isResting = true
        self.loop.assumeIsolated().scheduleTask(in: rest) {
            self.isResting = false
            self.hasSliced = false
            self.slice()
        }
    }

    /// The user in line who has taken the least time.
    private func next(at now: NIODeadline) -> User? {
        guard var least = self.users.first else { return nil }
        for user in self.users where user.used < least.used { least = user }
        if least !== self.lastUser {
            self.lastUser = least
            self.lastChange = now
        }
        return least
    }

    // MARK: - How long

    /// The length of a slice for the users in line, or for a user who is not.
    private func length(at now: NIODeadline, for user: User? = nil) -> TimeAmount {
        let sets = exchange(&self.sets, with: Sets())
        if sets.came { self.lastSet = now }
        if sets.areOfSeveral { self.lastChange = now }
        guard !self.isHurried, self.isContested(at: now, by: user) else {
            return Self.longSlice
        }
        return max(Self.slice, min(sets.time, Self.longSlice))
    }

    /// Whether another user would wait during this slice; a user whose own readers delay its sets does not count.
    private func isContested(at now: NIODeadline, by user: User?) -> Bool {
        let isOthers =
            user.map { $0 !== self.setter } ?? false || self.users.contains { $0 !== self.setter }
        return isOthers && self.hasSetters(at: now)
            || self.lastChange.map { $0 + Self.memory > now } ?? false
    }

    private func hasSetters(at now: NIODeadline) -> Bool {
        self.lastSet.map { $0 + Self.memory > now } ?? false
    }
}

/// A connection's standing in the server's lists; each variable belongs to whoever keeps the list.
struct SchedulingState {
    /// Its index in the server's list of connections.
    var place = 0
    /// Whether it waits for its turn.
    var isInLine = false
    /// Whether the current round waits for its turn.
    var isInRound = false
    /// Whether it is listed as one whose set was answered.
    var isAnswered = false
}

/// Who has connections: the account of each user, and the places that they take.
///
/// Belongs to the event loop.
final class Users {
    private let ownUid: UInt32
    private var accounts: [UInt32: User] = [:]
    private var admission: Admission

    init(limits: ServerLimits, ownUid: UInt32) {
        self.ownUid = ownUid
        self.admission = Admission(limits: limits, ownUid: ownUid)
    }

    var count: Int { self.accounts.count }

    /// Connections that have a place.
    var placesTaken: Int { self.admission.total }

    /// The account of a user.
    func account(of uid: UInt32) -> User {
        if let user = self.accounts[uid] { return user }
        let user = User(uid, isLimited: uid != 0 && uid != self.ownUid)
        self.accounts[uid] = user
        return user
    }

    /// Whether a user's connection has a place, and from when on.
    func admit(_ uid: UInt32, at door: Door) -> Admission.Decision {
        self.admission.arrived(uid, at: door, now: Self.now)
    }

    /// A connection of the last process, which had its place there.
    func admitAgain(_ uid: UInt32) { self.admission.returned(uid) }

    /// Who has more than the new limits allow keeps it.
    func apply(_ limits: ServerLimits) { self.admission.limits = limits }

    func came(_ connection: Connection) { connection.user.connections += 1 }

    func left(_ connection: Connection) {
        let user = connection.user
        user.connections -= 1
        if user.connections == 0 { self.accounts[user.uid] = nil }
        guard connection.lifecycle.place != .none else { return }
        let wasServed = connection.lifecycle.place == .served
        self.admission.left(user.uid, wasServed: wasServed, now: Self.now)
    }

    private static var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }
}
