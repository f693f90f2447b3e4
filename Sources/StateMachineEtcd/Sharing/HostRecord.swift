#if Cluster
package import StateMachineCore
package import StateMachineProtocol

/// One host, for people and for the other hosts.
package struct HostRecord: SharedValue {
    package var instance: String
    package var boot: String
    package var version: String
    /// The oldest and the newest layout that it can work with.
    package var layouts: ClosedRange<UInt64>
    package var form: String
    /// The hash of the machine's file.
    package var declaration: String
    /// The lease, and how long that lasts.
    package var session: Int64
    package var secondsToLive: UInt64
    package var seq: UInt64
    /// Its clock when it wrote this.
    package var wall: WallTime
}

extension HostRecord {
    package init(_ members: SharedMembers) throws(Malformed) {
        (self.instance, self.boot) = (try members.text("instance"), try members.text("boot"))
        (self.version, self.form) = (try members.text("version"), try members.text("form"))
        let (oldest, newest) = (
            try members.number("oldestLayout"), try members.number("newestLayout")
        )
        guard oldest <= newest else {
            throw Malformed("a host's layouts are \(oldest) to \(newest)")
        }
        self.layouts = oldest...newest
        self.declaration = try members.text("declaration")
        let session = try members.text("session")
        guard let lease = Int64(session, radix: 16) else {
            throw Malformed("\(session.quoted) is no lease")
        }
        self.session = lease
        (self.secondsToLive, self.seq) = (try members.number("ttl"), try members.number("seq"))
        self.wall = try members.time("wall")
    }

    package var members: [JSONMember] {
        [
            JSONMember("instance", .string(self.instance)), JSONMember("boot", .string(self.boot)),
            JSONMember("version", .string(self.version)),
            JSONMember("oldestLayout", .integer(self.layouts.lowerBound)),
            JSONMember("newestLayout", .integer(self.layouts.upperBound)),
            JSONMember("form", .string(self.form)),
            JSONMember("declaration", .string(self.declaration)),
            JSONMember("session", .string(String(self.session, radix: 16))),
            JSONMember("ttl", .integer(self.secondsToLive)), JSONMember("seq", .integer(self.seq)),
            JSONMember("wall", .string(self.wall.rfc3339)),
        ]
    }
}
#endif
