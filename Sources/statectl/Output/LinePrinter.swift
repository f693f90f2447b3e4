import StateMachineClient

/// Shows a watch's lines on standard output: as they are, or as text for people.
struct LinePrinter: Sendable {
    let options: SharedOptions
    /// What its lines are marked with; nil where there is one machine.
    var mark: MachineMark?

    /// Shows a line if there is anything in it that was asked for.
    func show(_ line: Line) throws(OutputError) {
        if self.options.json {
            if line.isSelected || line.resync != nil || line.kind != .state {
                try self.write(json: line)
            }
        } else if let text = self.options.text.event(line) {
            try self.write(text)
        }
    }

    /// Shows that the daemon has gone.
    func gone(_ error: ClientError) throws(OutputError) {
        if self.options.json {
            if case .dismissed(let farewell) = error { try self.write(json: farewell) }
            if let line = PresenceLine.gone(error) { try self.write(json: line) }
        } else {
            try self.write(self.options.text.gone(error))
        }
    }

    /// Shows that it has come back.
    func back() throws(OutputError) {
        if self.options.json {
            if let line = PresenceLine.back { try self.write(json: line) }
        } else {
            try self.write(self.options.text.back)
        }
    }

    private func write(json line: Line) throws(OutputError) {
        try StandardOutput.write(self.mark?.marked(json: line.text) ?? line.text)
    }

    private func write(_ text: String) throws(OutputError) {
        try StandardOutput.write(self.mark?.marked(text: text, self.options.text) ?? text)
    }
}
