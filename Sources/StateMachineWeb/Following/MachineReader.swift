import StateMachineClient
import StateMachineCore
import StateMachineProtocol

/// Reads what happens to one machine, from the position that a reader has come to.
struct MachineReader {
    /// The most changes asked for at a time, and in all, before a reader gets the state instead.
    ///
    /// 64: 8 MiB of the largest states; 10,000: what the daemon answers at once to others.
    private static let limits = (page: UInt64(64), all: 10_000)

    let machine: Machine
    /// Where it is; nil while what it has missed is looked for, after that id.
    private var position: FeedPosition?
    private var id: String?
    /// How many changes were found of what it has missed.
    private var count = 0
    /// Whether it was told that the daemon is gone, before it had a position.
    private var hasSaidGone = false

    init(_ machine: Machine, after id: String?) {
        self.machine = machine
        self.id = id
    }

    /// What follows; empty if nothing follows yet.
    ///
    /// - Throws: `CancellationError`.
    mutating func next() async throws -> [ServerEvent] {
        let feed = self.machine.feed
        while true {
            if var position = self.position {
                defer { self.position = position }
                return feed.read(&position)
            }
            switch feed.start(after: self.id) {
            case .at(let position, let events):
                self.position = position
                if self.hasSaidGone, !events.contains(where: { $0.kind == .gone }) {
                    return [.back] + events
                }
                if !events.isEmpty { return events }
            case .unknown(let gone):
                guard !gone.isEmpty, !self.hasSaidGone else { return [] }
                self.hasSaidGone = true
                return gone
            case .before(let cursor, let head):
                let replay =
                    self.count < Self.limits.all ? try await self.replay(cursor, upTo: head) : nil
                guard let replay else {
                    let (position, events) = feed.resync(after: cursor, because: "evicted")
                    self.position = position
                    return events
                }
                self.id = replay.last?.cursor?.description
                self.count += replay.count
                return replay
            }
        }
    }

    /// A part of what the daemon still has after that; nil if it has no more.
    private func replay(_ cursor: Cursor, upTo head: UInt64) async throws -> [ServerEvent]? {
        var events: [ServerEvent] = []
        do {
            let since = cursor.description
            let reply = try await self.machine.client.history(since: since, limit: Self.limits.page)
            {
                // What is newer comes from the feed.
                if let seq = $0.seq, seq <= head { events.append(ServerEvent(.change, $0)) }
            }
            guard reply.isOK == true, reply.resync == nil else { return nil }
        } catch is ClientError {
            return nil
        }
        return events.last?.cursor == nil ? nil : events
    }
}

/// Where a reader of all machines is, as the id of a stream: a position for each.
///
/// Six hexadecimal digits for the name, eight of the epoch, and the number in base 36, for each
/// machine; separated by full stops. A name's digits that are another's, too, have the reader begin
/// with the state, since the epochs differ.
struct JointPositions: Sendable, CustomStringConvertible {
    /// Digits of a name, and of a name and an epoch.
    ///
    /// Six: with the most machines, 64, the whole id has less than 2 KiB.
    private static let digits = (name: 6, both: 14)

    private var positions: [String: Cursor] = [:]

    /// Reads an id; whatever is not one of ours is left out.
    init(_ id: String) {
        for part in id.split(separator: ".").prefix(Machines.most) {
            let (name, rest) = (part.prefix(Self.digits.name), part.dropFirst(Self.digits.both))
            let epoch = part.dropFirst(Self.digits.name).prefix(Self.digits.both - Self.digits.name)
            guard let seq = UInt64(rest, radix: 36), let cursor = Cursor("\(epoch):\(seq)") else {
                continue
            }
            self.positions[String(name)] = cursor
        }
    }

    subscript(name: String) -> Cursor? {
        get { self.positions[Self.key(name)] }
        set { self.positions[Self.key(name)] = newValue }
    }

    var description: String {
        self.positions.sorted { $0.key < $1.key }
            .map { "\($0.key)\($0.value.epoch)\(String($0.value.seq, radix: 36))" }
            .joined(separator: ".")
    }

    /// FNV-1a, folded to 24 bits.
    private static func key(_ name: String) -> String {
        let hash = name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return ((hash >> 24) ^ (hash & 0xff_ffff)).digits(self.digits.name, radix: 16)
    }
}

extension Line {
    /// The line's state as a `state` line has it, without what was missed.
    var stateJSON: JSONValue { .object(self.stateMembers) }

    /// The same as an event of a stream, with why it replaces changes, and how many.
    func stateEvent(resync: String? = nil, missed: UInt64? = nil) -> ServerEvent {
        var members = self.stateMembers
        if let resync { members.append(JSONMember("resync", .string(resync))) }
        if let missed { members.append(JSONMember("missed", .integer(missed))) }
        let data = JSONValue.object(members).description
        return ServerEvent(kind: .state, cursor: self.cursor.flatMap { Cursor($0) }, data: data)
    }

    private var stateMembers: [JSONMember] {
        let keys = ["seq", "state", "data", "at", "stay", "due", "by", "cause", "forced", "cursor"]
        return [JSONMember("type", "state")] + self.members(keys)
    }
}
