#if Cluster
import StateMachineCore
import StateMachineProtocol

/// How the changes of a machine are written for its other hosts, and read from them.
struct SharedForm: Sendable {
    /// The states as this program began with them; a state's own declaration may be a newer one.
    let schema: Schema

    /// Tells the states apart from those of another program or file: their names and fields.
    var hash: String {
        let shape = JSONValue.array(self.schema.states.map { self.schema.described($0) })
        let mark = Restoration.Mark(0, Array(shape.description.utf8))
        return mark.digest.digits(16, radix: 16)
    }

    /// The change that the other hosts are to enter.
    func shared(_ change: Change) -> SharedChange {
        SharedChange(
            change.new.name,
            self.schema.encoded(change.new).data,
            at: change.at,
            stay: change.stay,
            by: change.setter.map { .object(self.members(of: $0, at: change.origin?.host)) },
            cause: change.cause,
            isForced: change.origin?.isForced ?? false
        )
    }

    /// A place that a machine begins at.
    func shared(_ place: Place) -> SharedChange {
        SharedChange(
            place.value.name,
            self.schema.encoded(place.value).data,
            at: place.at,
            stay: place.stay
        )
    }

    /// About how many bytes the change takes.
    func length(of change: Change) -> Int {
        // The names of its members, numbers, and what is known of who asked for it.
        512 + self.schema.encoded(change.new).fragment.count + change.causeLength
    }

    /// The state that another host has entered, as what declares the states of `present` has it.
    ///
    /// - Throws: if there is no such state here.
    func value(_ change: SharedChange, beside present: Value) throws(NotCarriedOver) -> Value {
        try self.schema.schema(of: present).carried(
            change.state,
            data: change.data.members ?? [],
            of: "the state that another host has set"
        )
    }

    /// What another host has done.
    func change(
        _ change: SharedChange,
        _ seq: UInt64,
        from old: Value,
        to new: Value,
        isArrival: Bool = false
    ) -> Change {
        Change(
            seq: seq,
            old: old,
            new: new,
            at: change.at,
            from: self.origin(of: change),
            stay: change.stay,
            isArrival: isArrival
        )
    }

    // MARK: - Who asked for it

    private func members(of peer: Peer, at host: String?) -> [JSONMember] {
        var members: [JSONMember] = []
        if let host { members.append(JSONMember("host", .string(host))) }
        members.append(JSONMember("uid", .integer(Int64(peer.uid))))
        members.append(JSONMember("pid", .integer(Int64(peer.pid))))
        if let comm = peer.comm { members.append(JSONMember("comm", .string(comm))) }
        if let unit = peer.unit { members.append(JSONMember("unit", .string(unit))) }
        return members
    }

    /// Who has asked for it at the other host, as that wrote it: it is shown, and compared with nothing.
    private func origin(of change: SharedChange) -> Origin? {
        let by = change.by
        var peer: Peer?
        if let uid = by?["uid"]?.integer.flatMap({ UInt32(exactly: $0) }),
            let pid = by?["pid"]?.integer.flatMap({ Int32(exactly: $0) })
        {
            peer = Peer(uid: uid, pid: pid, comm: by?["comm"]?.string, unit: by?["unit"]?.string)
        }
        return .of(
            peer,
            at: by?["host"]?.string,
            because: change.cause,
            isForced: change.isForced
        )
    }
}
#endif
