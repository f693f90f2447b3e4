#if Cluster
import StateMachineCore
import StateMachineProtocol

extension HostRecord {
    /// What of a host's record stays the same; the rest is its session's.
    init(_ instance: String, _ form: SharedForm, lasting timeToLive: Duration) {
        self.init(
            instance: instance,
            boot: BootID.current ?? "unknown",
            version: StateMachineVersion.current,
            layouts: SharedSettings.newestLayout...SharedSettings.newestLayout,
            form: form.hash,
            declaration: form.schema.declaration?.hash ?? "",
            session: 0,
            secondsToLive: UInt64(max(0, timeToLive.components.seconds)),
            seq: 0,
            wall: .now
        )
    }
}

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

    /// The change that the other hosts are to enter; without times of a machine that has none.
    func shared(_ change: Change, _ times: StayTimes?) -> SharedChange {
        SharedChange(
            change.new.name,
            self.schema.encoded(change.new).data,
            at: change.at,
            stay: change.stay,
            times: times,
            by: change.setter.map { .object(self.members(of: $0, at: change.origin?.host)) },
            cause: change.cause,
            isForced: change.origin?.isForced ?? false
        )
    }

    /// Where a motion leads, for a guard that is asked.
    func shared(_ motion: Motion) -> SharedChange {
        SharedChange(
            motion.proposed.name,
            self.schema.encoded(motion.proposed).data,
            at: motion.current.at,
            stay: motion.current.stay,
            by: motion.by.map { .object($0.sharedMembers) },
            cause: motion.cause
        )
    }

    /// What another host asks of guards here.
    ///
    /// - Throws: if one of the states is not there here.
    func motion(_ ask: SharedAsk) throws(NotCarriedOver) -> Motion {
        let current = try self.value(ask.current, beside: self.schema.initial)
        return Motion(
            from: Place(
                seq: ask.seq,
                value: current,
                at: ask.current.at,
                stay: ask.current.stay
            ),
            to: try self.value(ask.proposed, beside: current),
            beginsStay: ask.beginsStay,
            by: Peer(shared: ask.proposed.by),
            because: ask.proposed.cause
        )
    }

    /// A place that a machine begins at.
    func shared(_ place: Place) -> SharedChange {
        let start = StayStart(stay: place.stay, moment: StayMoment(place.at))
        return SharedChange(
            place.value.name,
            self.schema.encoded(place.value).data,
            at: place.at,
            stay: place.stay,
            times: self.times(of: place.value, since: start)
        )
    }

    /// The times of a stay that counts from `start`, as its state knows them.
    func times(of value: Value, since start: StayStart) -> StayTimes {
        StayTimes(
            of: start.stay,
            since: start.moment.wall,
            knowing: self.schema.rules?.times(of: value) ?? []
        ) { start.start(ofGroupAt: $0).moment.wall }
    }

    /// About how many bytes the change takes.
    func length(of change: Change) -> Int {
        // The names of its members, numbers, and what is known of who asked for it.
        512 + self.schema.encoded(change.new).fragment.count + change.causeLength
    }

    /// About how many bytes a hold or guard takes.
    static func length(of voter: KeptVoter) -> Int { 512 + 2 * voter.request.count }

    /// The state that another host has entered, as what declares the states of `present` has it.
    ///
    /// - Throws: if there is no such state here.
    func value(_ change: SharedChange, beside present: Value) throws(NotCarriedOver) -> Value {
        let schema = self.schema.schema(of: present)
        let value = try schema.carried(
            change.state,
            data: change.data.members ?? [],
            of: "the state that another host has set"
        )
        return schema.rules?.knowing(change.times.known, value, in: change.stay) ?? value
    }

    /// What another host has done.
    func change(
        _ change: SharedChange,
        _ seq: UInt64,
        from old: Value,
        to new: Value,
        renewals: UInt32,
        _ kind: Change.Kind
    ) -> Change {
        Change(
            seq: seq,
            old: old,
            new: new,
            at: change.at,
            from: self.origin(of: change),
            stay: change.stay,
            renewals: renewals,
            kind: kind
        )
    }

    // MARK: - The past

    /// A change as it is recorded, to the byte as it is sent.
    ///
    /// - Parameters:
    ///   - change: the change.
    ///   - seq: its seq.
    ///   - value: what is made of its state here; nil if there is no such state, which is recorded as the other host has it.
    ///   - old: the state that it left, if that is known.
    /// - Returns: it.
    func recorded(
        _ change: SharedChange,
        _ seq: UInt64,
        as value: Value?,
        leaving old: RecordedTransition.State?
    ) -> RecordedTransition {
        let origin = self.origin(of: change)
        let data = value.map { self.schema.encoded($0).dataText } ?? change.data.description
        return RecordedTransition(
            seq: seq,
            old: old,
            new: RecordedTransition.State(name: change.state, data: data),
            at: change.at,
            cause: change.cause,
            by: origin?.peer,
            host: origin?.host,
            isForced: change.isForced,
            stay: self.schema.hasStays ? change.stay : nil,
            due: value.flatMap { self.due(change, seq, as: $0) }
        )
    }

    /// What time was to do to a state, as it is recorded; nil if nothing.
    private func due(_ change: SharedChange, _ seq: UInt64, as value: Value) -> String? {
        let place = Place(seq: seq, value: value, at: change.at, stay: change.stay)
        return self.schema.due(at: place) { change.times.start }?.text
    }

    /// The same of a change that was read back.
    func recorded(
        _ change: SharedChange,
        _ seq: UInt64,
        leaving old: RecordedTransition.State?
    ) -> RecordedTransition {
        let value = try? self.value(change, beside: self.schema.initial)
        return self.recorded(change, seq, as: value, leaving: old)
    }

    /// The place that this host was at when its last run ended; nil if there is no such state here.
    func place(_ left: SharedPosition) -> Place? {
        let newest = left.newest
        let (data, stay) = (
            JSONValue(parsing: newest.new.data)?.members ?? [], newest.stay ?? newest.seq
        )
        guard let value = try? self.schema.carried(newest.new.name, data: data) else { return nil }
        return Place(
            seq: newest.seq,
            value: self.schema.rules?.knowing(left.times?.known ?? [], value, in: stay) ?? value,
            at: newest.at,
            stay: stay
        )
    }

    // MARK: - Who asked for it

    private func members(of peer: Peer, at host: String?) -> [JSONMember] {
        (host.map { [JSONMember("host", .string($0))] } ?? []) + peer.sharedMembers
    }

    /// Who has asked for it at the other host.
    private func origin(of change: SharedChange) -> Origin? {
        .of(
            Peer(shared: change.by),
            at: change.by?["host"]?.string,
            because: change.cause,
            isForced: change.isForced
        )
    }
}
#endif
