#if Cluster
import StateMachineCore
import StateMachineProtocol

/// A hold or guard as its host has put it, for the other hosts; its number is in the key.
struct SharedVoter: SharedValue {
    /// The line that asked for it last.
    let request: String
    let since: WallTime
    /// Who asked for it.
    let by: JSONValue
    /// The name that it is held or required as; nil if it ends with its connection.
    let name: String?
    /// When a hold that belongs to no connection ends.
    let until: WallTime?

    init(_ voter: KeptVoter) {
        self.request = String(decoding: voter.request, as: UTF8.self)
        (self.since, self.by) = (voter.since, .object(voter.peer.sharedMembers))
        (self.name, self.until) = (voter.name, voter.until)
    }

    init(_ members: SharedMembers) throws(Malformed) {
        self.request = try members.text("request")
        self.since = try members.time("since")
        self.by = try members.object("by")
        self.name = try members.optional("name") { (members) throws(Malformed) in
            try members.text("name")
        }
        self.until = try members.optional("until") { (members) throws(Malformed) in
            try members.time("until")
        }
    }

    var members: [JSONMember] {
        var members = [
            JSONMember("request", .string(self.request)),
            JSONMember("since", .string(self.since.rfc3339)), JSONMember("by", self.by),
        ]
        if let name { members.append(JSONMember("name", .string(name))) }
        if let until { members.append(JSONMember("until", .string(until.rfc3339))) }
        return members
    }
}

extension KeptVoter {
    /// The one of that number; what cannot be read denies everything.
    init(_ number: UInt64, reading bytes: [UInt8]) {
        let value: SharedVoter?
        do {
            value = try SharedVoter(reading: bytes)
        } catch {
            value = nil
        }
        self.init(
            number: number,
            name: value?.name,
            peer: value.flatMap { Peer(shared: $0.by) } ?? Peer(uid: .max, pid: 0),
            request: value.map { Array($0.request.utf8) } ?? [],
            since: value?.since ?? .now,
            until: value?.until
        )
    }
}

extension Peer {
    /// Who has asked for something at another host, as that wrote it: it is shown, and compared with nothing.
    init?(shared by: JSONValue?) {
        guard let uid = by?["uid"]?.integer.flatMap({ UInt32(exactly: $0) }),
            let pid = by?["pid"]?.integer.flatMap({ Int32(exactly: $0) })
        else { return nil }
        self.init(uid: uid, pid: pid, comm: by?["comm"]?.string, unit: by?["unit"]?.string)
    }

    /// The same for the other hosts.
    var sharedMembers: [JSONMember] {
        var members = [
            JSONMember("uid", .integer(Int64(self.uid))),
            JSONMember("pid", .integer(Int64(self.pid))),
        ]
        if let comm { members.append(JSONMember("comm", .string(comm))) }
        if let unit { members.append(JSONMember("unit", .string(unit))) }
        return members
    }
}
#endif
