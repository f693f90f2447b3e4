package import StateMachineCore

/// A state as the wire shows it and the disk keeps it, encoded once for all lines that carry it.
package final class Encoded: Sendable {
    /// The state's name, and the same to be compared.
    package let name: String
    package let spelling: Spelling
    /// For patterns to match.
    package let data: JSONValue
    /// `"state":"…","data":{…}`: the part that every line about the state carries.
    package let fragment: [UInt8]
    /// Where `data` begins in the fragment.
    private let dataStart: Int

    package init(_ name: String, _ data: JSONValue) {
        self.name = name
        self.spelling = Spelling(name)
        self.data = data
        var writer = LineWriter()
        writer.state(name)
        self.dataStart = writer.count
        writer.json(data)
        self.fragment = writer.bytes
    }

    /// Refuses a state that is too long to be shown.
    package func checkLength() throws(WireError) {
        let length = self.fragment.count
        guard length > RequestLimits.stateBytes else { return }
        throw WireError(
            .tooLong,
            "the state is too long: it has \(length) bytes as JSON, and may have \(RequestLimits.stateBytes)"
        )
    }

    /// The data as text, as it is in the fragment.
    package var dataText: String {
        String(decoding: self.fragment[self.dataStart...], as: UTF8.self)
    }

    /// Calls `body` with the bytes of that text.
    package func withData(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        self.fragment.withUnsafeBufferPointer { body(.init(rebasing: $0[self.dataStart...])) }
    }
}

extension Schema {
    /// The state's encoded form, made now if nobody has asked for it before.
    package func encoded(_ value: Value) -> Encoded { self.form(of: value).takeUnretainedValue() }

    private func form(of value: Value) -> Unmanaged<Encoded> {
        value.form { Encoded(value.name, self.codec.data(of: value)) }
    }

    /// Calls `body` with the encoded forms of both states of a change, which keeps them: no reference is counted.
    package func withEncoded(_ change: Change, _ body: (_ old: Encoded, _ new: Encoded) -> Void) {
        self.form(of: change.old)._withUnsafeGuaranteedRef { old in
            self.form(of: change.new)._withUnsafeGuaranteedRef { new in body(old, new) }
        }
    }

    /// A place, as lines show it, and what time will do there.
    package func report(
        of place: Place,
        in epoch: Epoch,
        due: ServerLine.Due?
    ) -> ServerLine.Report {
        ServerLine.Report(
            seq: place.seq,
            fragment: self.encoded(place.value).fragment,
            at: place.at,
            epoch: epoch,
            stay: self.hasStays ? place.stay : nil,
            due: due
        )
    }

    /// What lines say of what time does next to the machine at that place, as far as it can be told now; nil if it does
    /// nothing there.
    ///
    /// Where what is seen of others decides only the moment is told: lines and the history say the same.
    package func due(at place: Place, since start: () -> StayStart) -> ServerLine.Due? {
        guard let rules = self.rules, case let all = rules.due(at: place), !all.isEmpty else {
            return nil
        }
        let stay = start()
        guard let (due, at) = all.map({ ($0, $0.wall(in: stay)) }).min(by: { $0.1 < $1.1 })
        else { return nil }
        guard !due.isOpen else { return ServerLine.Due(fragment: [], at: at) }
        let next =
            switch try? rules.decide(.time(due.key), at: place, seeing: .nothing, nil).made {
            case .enter(let value)?, .keep(let value)?, .renew(let value, _)?: value
            case .pass?, .nothing?, nil: place.value
            }
        // It is shown once, and so is not made of the value, which would keep it.
        let shown = Encoded(next.name, self.codec.data(of: next))
        return ServerLine.Due(fragment: shown.fragment, at: at)
    }

    /// Whether a change concerns a voter with these patterns: whether one of them comes to match.
    ///
    /// It covers the new state and, unless the change begins a new stay, did not cover the one before. Each pattern counts
    /// by itself, with the exceptions of its list.
    package func concerns(_ list: PatternList, _ motion: Motion) -> Bool {
        let before = motion.beginsStay ? nil : motion.current.value
        return list.comesToMatch(
            { self.matches($0, motion.proposed) },
            from: before.map { value in { self.matches($0, value) } }
        )
    }

    /// The numbers at which voters stand whom a change may concern; see ``PatternList/buckets``.
    package func buckets(of motion: Motion) -> [Int] {
        PatternBucket.all(
            of: motion.proposed.name,
            self.encoded(motion.proposed).data,
            after: self.dataBefore(motion)
        )
    }

    /// The stretches on which such voters stand.
    package func stretches(of motion: Motion) -> [Stretch] {
        PatternBucket.stretches(
            of: motion.proposed.name,
            self.encoded(motion.proposed).data,
            after: self.dataBefore(motion)
        )
    }

    /// The numbers at which voters stand whom a new stay in that state concerns whatever it carries.
    package func buckets(ofAny state: String) -> [Int] {
        PatternBucket.all(of: state, [:], after: nil)
    }

    /// What the state carried before a change in the same stay.
    private func dataBefore(_ motion: Motion) -> JSONValue? {
        motion.beginsStay ? nil : self.encoded(motion.current.value).data
    }

    /// The numbers at which readers stand who may want the state; see ``PatternList/readerBuckets``.
    package func readerBuckets(of value: Value) -> [Int] {
        PatternBucket.all(of: value.name, self.encoded(value).data)
    }

    /// The stretches on which such readers stand.
    package func readerStretches(of value: Value) -> [Stretch] {
        PatternBucket.stretches(of: value.name, self.encoded(value).data)
    }

    /// Whether a pattern covers the state as it is shown: a group is what it was when the pattern was resolved.
    package func shows(_ value: Value, as pattern: Pattern) -> Bool {
        pattern.matches(value.name, self.encoded(value).data)
    }

    /// Whether a pattern covers the state: a group is what the state's own declaration says.
    package func matches(_ pattern: Pattern, _ value: Value) -> Bool {
        // Most patterns name another state, or only a state.
        let isNamed =
            pattern.isOfGroup
            ? self.schema(of: value).group(pattern.name)?.members.contains(value.name) ?? false
            : pattern.selects(value.name)
        guard isNamed, pattern.asksForValues else { return isNamed }
        return pattern.asksFor(self.encoded(value).data)
    }
}
