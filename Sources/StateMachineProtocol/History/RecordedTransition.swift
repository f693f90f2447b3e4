package import StateMachineCore

/// A transition as it was recorded: its states in their wire form.
///
/// It can be read without knowing the state's type, and shows byte for byte what was sent.
package struct RecordedTransition: Hashable, Sendable {
    /// A state in its encoded form.
    package struct State: Hashable, Sendable {
        /// The case's name.
        package let name: String
        /// The associated values: the text of a JSON object.
        package let data: String

        /// A state of that name with that data.
        package init(name: String, data: String) {
            self.name = name
            self.data = data
        }
    }

    /// Its place in the total order; 0 for the initial state.
    package let seq: UInt64
    /// The state that was left; nil for seq 0, and where that is not known.
    package var old: State?
    /// The state that was entered.
    package var new: State
    /// When it was evaluated, just before it was recorded.
    package let at: WallTime
    /// Why, in the words of whoever set it.
    package let cause: String?
    /// Who set it from outside the process; nil for the process itself.
    package let by: Peer?
    /// The seq that began the stay in the state; nil for a machine that has no stays.
    package let stay: UInt64?
    /// What time was to do to the state, and when: the text of a JSON object; nil if nothing.
    package var due: String?

    /// A transition with everything that is recorded of it.
    package init(
        seq: UInt64,
        old: State?,
        new: State,
        at: WallTime,
        cause: String? = nil,
        by: Peer? = nil,
        stay: UInt64? = nil,
        due: String? = nil
    ) {
        self.seq = seq
        self.old = old
        self.new = new
        self.at = at
        self.cause = cause
        self.by = by
        self.stay = stay
        self.due = due
    }
}

extension RecordedTransition.State {
    /// `"state":"…","data":{…}`, with the data byte for byte as recorded.
    package var fragment: [UInt8] {
        LineWriter.bytes { writer in
            writer.state(self.name)
            writer.raw(self.data)
        }
    }

    /// A function that tells whether patterns cover it; parses its data once, if at all.
    package var names: (Pattern) -> Bool {
        var data: JSONValue??
        return { pattern in
            // Most patterns name another state, or only a state.
            guard pattern.selects(self.name) else { return false }
            if pattern.data.isEmpty { return true }
            let value = data ?? JSONValue(parsing: self.data)
            data = .some(value)
            return value.map { pattern.matches(self.name, $0) } ?? false
        }
    }
}

extension RecordedTransition {
    /// How the machine looked after it.
    package func report(in epoch: Epoch) -> ServerLine.Report {
        ServerLine.Report(
            seq: self.seq,
            fragment: self.new.fragment,
            at: self.at,
            epoch: epoch,
            stay: self.stay,
            due: self.stay == nil ? nil : self.due.flatMap(ServerLine.Due.init(recorded:))
        )
    }

    /// Its line for a watch without id, as made by ``ServerLine/change(_:from:_:)``.
    package func line(in epoch: Epoch) -> [UInt8] {
        ServerLine.change(
            self.report(in: epoch),
            from: self.old?.fragment ?? [],
            .of(self.by, because: self.cause)
        )
    }
}
