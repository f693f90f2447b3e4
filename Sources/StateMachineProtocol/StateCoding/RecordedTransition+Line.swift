package import StateMachineCore

extension RecordedTransition.State {
    /// `"state":"…","data":{…}`, the data to the byte as it was written down.
    package var fragment: [UInt8] {
        var writer = LineWriter()
        writer.text("\"state\":")
        writer.quoted(self.name)
        writer.text(",\"data\":")
        writer.raw(self.data)
        return writer.bytes
    }

    /// The first of the patterns that it matches.
    package func first(of patterns: [Pattern]) -> Pattern? {
        // Most patterns name another state, or nothing but a state.
        let named = patterns.filter { $0.selects(self.name) }
        if let first = named.first, first.data.isEmpty { return first }
        guard !named.isEmpty, let data = JSONValue(parsing: self.data) else { return nil }
        return named.first { $0.matches(self.name, data) }
    }
}

extension RecordedTransition {
    /// How the machine looked when it had been made.
    package func report(in epoch: Epoch) -> ServerLine.Report {
        ServerLine.Report(
            seq: self.seq,
            fragment: self.new.fragment,
            at: self.at,
            epoch: epoch,
            stay: self.stay.map { stay in
                ServerLine.Stay(seq: stay, due: self.due.flatMap(ServerLine.Due.init(recorded:)))
            }
        )
    }

    /// Its line for a watch without id, as ``ServerLine/change(_:from:by:cause:)`` has it.
    package func line(in epoch: Epoch) -> [UInt8] {
        ServerLine.change(
            self.report(in: epoch),
            from: self.old?.fragment ?? [],
            by: self.by,
            cause: self.cause
        )
    }
}
