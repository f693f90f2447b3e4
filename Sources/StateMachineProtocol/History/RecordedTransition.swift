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
    /// The host where that was; nil where there is only one.
    package let host: String?
    /// Whether no hold and no guard was asked.
    package let isForced: Bool
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
        host: String? = nil,
        isForced: Bool = false,
        stay: UInt64? = nil,
        due: String? = nil
    ) {
        self.seq = seq
        self.old = old
        self.new = new
        self.at = at
        self.cause = cause
        self.by = by
        self.host = host
        self.isForced = isForced
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

    /// The state as patterns see it.
    package var seen: SeenState { SeenState(self.name, Array(self.data.utf8)) }
}

/// A recorded state as patterns see it: what it carries is read once, if at all.
package struct SeenState {
    private let name: String
    private let data: [UInt8]
    private var text: JSONText?
    /// Whether what it carries had to be read, and is not the text of an object.
    package private(set) var isDamaged = false

    /// A state of that name that carries the object in the text `data`.
    package init(_ name: String, _ data: [UInt8]) {
        self.name = name
        self.data = data
    }

    /// Whether a pattern covers it; the effect of a `!` is up to the list.
    package mutating func isCovered(by pattern: Pattern) -> Bool {
        // Most patterns name another state, or only a state.
        guard pattern.selects(self.name) else { return false }
        guard pattern.asksForValues else { return true }
        if self.text == nil {
            let text = self.data.withUnsafeBufferPointer {
                try? JSONReading.read($0, valueLimit: .max).text
            }
            guard let text, text.doubledKey == nil, text.kind(at: 0) == .object else {
                self.isDamaged = true
                return false
            }
            self.text = text
        }
        return self.text.map(pattern.asksFor) ?? false
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
            self.origin
        )
    }

    /// Who made it, and why; nil for the process itself, without a word.
    package var origin: Origin? {
        .of(self.by, at: self.host, because: self.cause, isForced: self.isForced)
    }
}
