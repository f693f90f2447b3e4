#if Cluster
package import StateMachineCore
package import StateMachineProtocol

/// A value under a key of the shared machine: JSON, as the wire has it.
///
/// Members that a later program may have written are passed over.
package protocol SharedValue: Hashable, Sendable {
    init(_ members: SharedMembers) throws(Malformed)
    var members: [JSONMember] { get }
}

extension SharedValue {
    package init(reading bytes: [UInt8]) throws(Malformed) {
        try self.init(try SharedMembers(bytes))
    }

    package var bytes: [UInt8] { Array(JSONValue.object(self.members).description.utf8) }
}

/// A state, and since when: what one change makes.
package struct SharedChange: SharedValue {
    package let state: String
    /// An object.
    package let data: JSONValue
    package let at: WallTime
    /// The seq that began the stay.
    package let stay: UInt64
    /// Those of the stay, as the change has left them.
    package let times: StayTimes
    /// Who set it, as its host knows that; nil for the machine itself.
    package let by: JSONValue?
    package let cause: String?
    /// Whether no hold and no guard was asked.
    package let isForced: Bool

    package init(
        _ state: String,
        _ data: JSONValue,
        at: WallTime,
        stay: UInt64,
        times: StayTimes? = nil,
        by: JSONValue? = nil,
        cause: String? = nil,
        isForced: Bool = false
    ) {
        (self.state, self.data, self.at, self.stay) = (state, data, at, stay)
        self.times = times ?? StayTimes(of: stay, since: at)
        (self.by, self.cause, self.isForced) = (by, cause, isForced)
    }

    package init(_ members: SharedMembers) throws(Malformed) {
        let (at, stay) = (try members.time("at"), try members.number("stay"))
        self.init(
            try members.text("state"),
            try members.object("data"),
            at: at,
            stay: stay,
            times: try StayTimes(members, at: at, stay: stay),
            by: try members.optional("by") { (members) throws(Malformed) in try members.object("by")
            },
            cause: try members.optional("cause") { (members) throws(Malformed) in
                try members.text("cause")
            },
            isForced: try members.optional("forced") { (members) throws(Malformed) in
                try members.flag("forced")
            } ?? false
        )
    }

    /// The same, made at another time: that of a machine's beginning.
    func made(at time: WallTime) -> SharedChange {
        SharedChange(
            self.state,
            self.data,
            at: time,
            stay: self.stay,
            times: StayTimes(of: self.stay, since: time, knowing: self.times.known)
        )
    }

    /// The same, with that known of its stay's times.
    func renewed(_ times: StayTimes) -> SharedChange {
        SharedChange(
            self.state,
            self.data,
            at: self.at,
            stay: self.stay,
            times: times,
            by: self.by,
            cause: self.cause,
            isForced: self.isForced
        )
    }

    package var members: [JSONMember] {
        var members = [
            JSONMember("state", .string(self.state)), JSONMember("data", self.data),
            JSONMember("at", .string(self.at.rfc3339)), JSONMember("stay", .integer(self.stay)),
        ]
        members += self.times.members(at: self.at)
        if let by { members.append(JSONMember("by", by)) }
        if let cause { members.append(JSONMember("cause", .string(cause))) }
        if self.isForced { members.append(JSONMember("forced", true)) }
        return members
    }
}

/// Where the machine is.
package struct Head: SharedValue {
    package var epoch: Epoch
    /// The epochs before it, newest last: an engine that has one of them again was restored.
    package var earlier: [Epoch]
    package var seq: UInt64
    /// How many blocks the epoch's log has had.
    package var block: UInt64
    /// What the last change made; the machine's beginning if there was none.
    ///
    /// Of its stay's times it may know more than the change did.
    package var last: SharedChange
    /// Who has put that; nil: whoever made the change.
    package var author: Block.Author?
    /// The hash of the schema of its states.
    package var form: String

    /// Earlier epochs that are known.
    ///
    /// 16: each is a restore by hand.
    private static let earlierLimit = 16

    package init(
        _ epoch: Epoch,
        after earlier: [Epoch] = [],
        seq: UInt64,
        block: UInt64,
        last: SharedChange,
        by author: Block.Author? = nil,
        form: String
    ) {
        (self.epoch, self.earlier, self.seq, self.block) = (epoch, earlier, seq, block)
        (self.last, self.author, self.form) = (last, author, form)
    }

    /// Epochs that have ended: these, and before them those others that are known; as many as are remembered.
    package static func ended(_ epochs: [Epoch], and known: [Epoch]) -> [Epoch] {
        Array((known.filter { !epochs.contains($0) } + epochs).suffix(Self.earlierLimit))
    }

    /// The same in a new epoch, whose log is empty, and which continues also those `known`.
    package func restarted(as epoch: Epoch, after known: [Epoch]) -> Head {
        Head(
            epoch,
            after: Self.ended(self.earlier + [self.epoch], and: known),
            seq: self.seq,
            block: 0,
            last: self.last,
            form: self.form
        )
    }

    package init(_ members: SharedMembers) throws(Malformed) {
        self.init(
            try members.epoch("epoch"),
            after: try members.epochs("earlier"),
            seq: try members.number("seq"),
            block: try members.number("block"),
            last: try SharedChange(members),
            by: try members.optional("host") { (members) throws(Malformed) in
                try Block.Author(members)
            },
            form: try members.text("form")
        )
        guard self.last.stay <= self.seq else {
            throw Malformed("the head's stay begins after the head")
        }
    }

    package var members: [JSONMember] {
        [
            JSONMember("epoch", .string(self.epoch.description)),
            JSONMember("earlier", .array(self.earlier.map { .string($0.description) })),
            JSONMember("seq", .integer(self.seq)),
            JSONMember("block", .integer(self.block)),
        ] + self.last.members + (self.author?.members ?? [])
            + [JSONMember("form", .string(self.form))]
    }
}

/// One group of changes, as it was committed.
package struct Block: SharedValue {
    /// Who wrote it: no two that could be written for the same seq are by the same.
    package struct Author: Hashable, Sendable {
        package let host: String
        /// The lease.
        package let session: Int64
        package let attempt: UInt64

        package init(_ host: String, session: Int64, attempt: UInt64) {
            (self.host, self.session, self.attempt) = (host, session, attempt)
        }

        fileprivate init(_ members: SharedMembers) throws(Malformed) {
            let session = try members.text("session")
            guard let lease = Int64(session, radix: 16) else {
                throw Malformed("\(session.quoted) is no lease")
            }
            self.init(
                try members.text("host"),
                session: lease,
                attempt: try members.number("attempt")
            )
        }

        fileprivate var members: [JSONMember] {
            [
                JSONMember("host", .string(self.host)),
                JSONMember("session", .string(String(self.session, radix: 16))),
                JSONMember("attempt", .integer(self.attempt)),
            ]
        }
    }

    /// The seq of its first change.
    package let first: UInt64
    package let author: Author
    /// At least one.
    package let changes: [SharedChange]

    package init(first: UInt64, by author: Author, _ changes: [SharedChange]) {
        (self.first, self.author, self.changes) = (first, author, changes)
    }

    package var last: UInt64 { self.first + UInt64(self.changes.count) - 1 }

    package init(_ members: SharedMembers) throws(Malformed) {
        self.init(
            first: try members.number("first"),
            by: try Author(members),
            try members.elements("changes")
        )
        guard !self.changes.isEmpty, self.first > 0 else {
            throw Malformed("a block has no changes")
        }
    }

    package var members: [JSONMember] {
        [JSONMember("first", .integer(self.first))] + self.author.members
            + [JSONMember("changes", .array(self.changes.map { .object($0.members) }))]
    }
}

/// What holds for all hosts of a machine.
package struct SharedSettings: SharedValue {
    /// The newest layout of the keys that this program knows.
    package static let newestLayout: UInt64 = 1

    /// Changes that the log keeps at least.
    package var keepChanges: UInt64
    package var layout: UInt64

    package init(keepChanges: UInt64, layout: UInt64 = Self.newestLayout) {
        (self.keepChanges, self.layout) = (keepChanges, layout)
    }

    package init(_ members: SharedMembers) throws(Malformed) {
        self.init(
            keepChanges: try members.number("keepChanges"),
            layout: try members.number("layout")
        )
    }

    package var members: [JSONMember] {
        [
            JSONMember("keepChanges", .integer(self.keepChanges)),
            JSONMember("layout", .integer(self.layout)),
        ]
    }
}

/// The members of a value that is read.
package struct SharedMembers: Sendable {
    private let value: JSONValue

    init(_ bytes: [UInt8]) throws(Malformed) {
        var parser = JSONParser(bytes)
        let value: JSONValue
        do {
            value = try parser.parse()
        } catch {
            throw Malformed("a value is not JSON: \(error)")
        }
        if let key = parser.doubledKey { throw Malformed("a value has \(key.quoted) twice") }
        self.value = value
    }

    private init(_ value: JSONValue) { self.value = value }

    private func member<Found>(
        _ key: String,
        _ kind: String,
        _ read: (JSONValue) -> Found?
    ) throws(Malformed) -> Found {
        guard let found = self.value[key].flatMap(read) else {
            throw Malformed("a value's \(key.quoted) is not \(kind)")
        }
        return found
    }

    /// What stands there, whatever it is; nil: nothing.
    func json(_ key: String) -> JSONValue? { self.value[key] }

    func text(_ key: String) throws(Malformed) -> String {
        try self.member(key, "a string", \.string)
    }

    func flag(_ key: String) throws(Malformed) -> Bool {
        try self.member(key, "a truth value", \.bool)
    }

    func object(_ key: String) throws(Malformed) -> JSONValue {
        try self.member(key, "an object") { $0.members == nil ? nil : $0 }
    }

    /// The members of an object in it.
    func nested(_ key: String) throws(Malformed) -> SharedMembers { Self(try self.object(key)) }

    /// Numbers end where JSON's readers lose digits.
    func number(_ key: String) throws(Malformed) -> UInt64 {
        try self.member(key, "a number from 0 to 2^53 - 1") { value in
            guard let number = value.integer, number >= 0, number < RequestLimits.integerBound
            else { return nil }
            return UInt64(number)
        }
    }

    func time(_ key: String) throws(Malformed) -> WallTime {
        try self.member(key, "a time") { $0.string.flatMap { WallTime(rfc3339: $0) } }
    }

    func epoch(_ key: String) throws(Malformed) -> Epoch {
        try self.member(key, "an epoch") { $0.string.flatMap { Epoch($0) } }
    }

    func epochs(_ key: String) throws(Malformed) -> [Epoch] {
        try self.member(key, "a list of epochs") { value in
            guard let elements = value.elements else { return nil }
            let epochs = elements.compactMap { $0.string.flatMap { Epoch($0) } }
            return epochs.count == elements.count ? epochs : nil
        }
    }

    func elements<Element: SharedValue>(_ key: String) throws(Malformed) -> [Element] {
        var elements: [Element] = []
        for value in try self.member(key, "an array", \.elements) {
            elements.append(try Element(Self(value)))
        }
        return elements
    }

    func optional<Found>(
        _ key: String,
        _ read: (Self) throws(Malformed) -> Found
    ) throws(Malformed) -> Found? {
        self.value[key] == nil ? nil : try read(self)
    }
}
#endif
