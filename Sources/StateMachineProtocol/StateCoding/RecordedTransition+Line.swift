import StateMachineCore

extension RecordedTransition.State {
    /// `"state":"…","data":{…}`, with the data byte for byte as recorded.
    package var fragment: [UInt8] {
        var writer = LineWriter()
        writer.text("\"state\":")
        writer.quoted(self.name)
        writer.text(",\"data\":")
        writer.raw(self.data)
        return writer.bytes
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
            stay: self.stay.map { stay in
                ServerLine.Stay(seq: stay, due: self.due.flatMap(ServerLine.Due.init(recorded:)))
            }
        )
    }

    /// Its line for a watch without id, as made by ``ServerLine/change(_:from:by:cause:)``.
    package func line(in epoch: Epoch) -> [UInt8] {
        ServerLine.change(
            self.report(in: epoch),
            from: self.old?.fragment ?? [],
            by: self.by,
            cause: self.cause
        )
    }
}
