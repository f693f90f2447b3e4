package import StateMachineCore

/// A state as the wire shows it and the disk keeps it, encoded once for all lines that carry it.
package final class Encoded: Sendable {
    /// For patterns to match.
    package let data: JSONValue
    /// `"state":"…","data":{…}`: the part that every line about the state carries.
    package let fragment: [UInt8]
    /// What time does to it; nil if nothing.
    package let deadline: EncodedDeadline?
    /// Where `data` begins in the fragment.
    private let dataStart: Int

    init(_ name: String, _ data: JSONValue, deadline: EncodedDeadline?) {
        self.data = data
        self.deadline = deadline
        var writer = LineWriter()
        writer.state(name)
        self.dataStart = writer.withBytes { $0.count }
        writer.json(data)
        self.fragment = writer.bytes
    }

    /// The data as text, as it is in the fragment.
    package var dataText: String {
        String(decoding: self.fragment[self.dataStart...], as: UTF8.self)
    }
}

extension Value {
    /// Its encoded form, which ``Schema/encoded(_:)`` has made.
    package var encoded: Encoded {
        self.form { preconditionFailure("\(self.name) is shown before its schema has encoded it") }
    }

    /// For patterns to match.
    package var data: JSONValue { self.encoded.data }

    /// See ``Encoded/fragment``.
    package var fragment: [UInt8] { self.encoded.fragment }

    package func matches(_ pattern: Pattern) -> Bool { pattern.matches(self.name, self.data) }
}

/// What time does to a state, as lines show it; the same for every stay in that state.
package struct EncodedDeadline: Sendable {
    /// From the beginning of the stay.
    package let delay: Duration
    /// The state to be entered then, as ``Encoded/fragment`` has it.
    let fragment: [UInt8]

    /// The deadline of a stay with that start.
    package func due(since start: StayStart) -> ServerLine.Due {
        ServerLine.Due(fragment: self.fragment, at: start.wall(after: self.delay))
    }
}

extension Schema {
    /// The state's encoded form, made now if nobody has asked for it before.
    package func encoded(_ value: Value) -> Encoded {
        value.form {
            Encoded(value.name, self.data(of: value), deadline: self.encodedDeadline(of: value))
        }
    }

    private func encodedDeadline(of value: Value) -> EncodedDeadline? {
        self.deadline(of: value).map { deadline in
            let next = deadline.move.next
            let fragment = Encoded(next.name, self.data(of: next), deadline: nil).fragment
            return EncodedDeadline(delay: deadline.delay, fragment: fragment)
        }
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

    /// The buckets at which voters stand whom a change may concern; see ``PatternList/buckets``.
    package func buckets(of motion: Motion) -> [Int] {
        let before = motion.beginsStay ? nil : self.encoded(motion.current.value).data
        return PatternBucket.all(
            of: motion.proposed.name,
            self.encoded(motion.proposed).data,
            after: before
        )
    }

    /// Whether a pattern covers the state.
    package func matches(_ pattern: Pattern, _ value: Value) -> Bool {
        // Most patterns name another state, or only a state.
        let isNamed =
            pattern.isOfGroup
            ? self.isMember(value, ofGroup: pattern.name) : pattern.selects(value.name)
        guard isNamed, !pattern.data.isEmpty else { return isNamed }
        return pattern.asksFor(self.encoded(value).data)
    }
}
