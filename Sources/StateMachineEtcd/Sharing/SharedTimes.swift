#if Cluster
import StateMachineCore
import StateMachineProtocol

/// What is known of one of a stay's times, as it stands among the members of a change.
private struct SharedDeadline: SharedValue {
    let time: KnownTime
    /// From when on it counts, if it is a group's.
    let entered: WallTime?

    init(_ time: KnownTime, since entered: WallTime?) {
        (self.time, self.entered) = (time, entered)
    }

    init(_ members: SharedMembers) throws(Malformed) {
        let time = KnownTime(
            try members.text("key"),
            group: try members.optional("group") { (members) throws(Malformed) in
                try members.number("group")
            },
            value: members.json("value"),
            hasPassed: try members.optional("fired") { (members) throws(Malformed) in
                try members.flag("fired")
            } ?? false
        )
        self.init(
            time,
            since: time.group == nil ? nil : try members.time("entered")
        )
    }

    var members: [JSONMember] {
        var members = [JSONMember("key", .string(self.time.key))]
        if let group = self.time.group { members.append(JSONMember("group", .integer(group))) }
        if let entered { members.append(JSONMember("entered", .string(entered.rfc3339))) }
        if let value = self.time.value { members.append(JSONMember("value", value)) }
        if self.time.hasPassed { members.append(JSONMember("fired", true)) }
        return members
    }
}

extension StayTimes {
    /// Those that stand in a change that was made at that time, and is in that stay.
    init(_ members: SharedMembers, at time: WallTime, stay: UInt64) throws(Malformed) {
        let entered = try members.optional("entered") { (members) throws(Malformed) in
            try members.time("entered")
        }
        let deadlines: [SharedDeadline] =
            try members.optional("deadlines") { (members) throws(Malformed) in
                try members.elements("deadlines")
            } ?? []
        self.init(
            of: stay,
            since: entered ?? time,
            knowing: deadlines.map(\.time)
        ) { group in deadlines.first { $0.time.group == group }?.entered }
    }

    /// What a change that was made at that time says of them: nothing that its other members say.
    func members(at time: WallTime) -> [JSONMember] {
        var members: [JSONMember] = []
        if self.entered != time {
            members.append(JSONMember("entered", .string(self.entered.rfc3339)))
        }
        guard !self.known.isEmpty else { return members }
        let deadlines = self.known.map { time in
            SharedDeadline(
                time,
                since: time.group.map { self.start.start(ofGroupAt: $0).moment.wall }
            )
        }
        return members
            + [JSONMember("deadlines", .array(deadlines.map { .object($0.members) }))]
    }
}
#endif
