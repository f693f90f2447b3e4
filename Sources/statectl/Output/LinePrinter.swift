import StateMachineClient

/// Shows a watch's lines on standard output: as they are, or as text for people.
struct LinePrinter: Sendable {
    let options: SharedOptions

    /// Shows a line if there is anything in it that was asked for.
    func show(_ line: Line) throws(OutputError) {
        if self.options.json {
            if line.isSelected || line.resync != nil || line.kind != .state {
                try StandardOutput.write(line.text)
            }
        } else if let text = self.options.text.event(line) {
            try StandardOutput.write(text)
        }
    }

    /// Shows that the daemon has gone.
    func gone(_ error: ClientError) throws(OutputError) {
        if self.options.json {
            if case .dismissed(let farewell) = error { try StandardOutput.write(farewell.text) }
            if let line = PresenceLine.gone(error) { try StandardOutput.write(line.text) }
        } else {
            try StandardOutput.write(self.options.text.gone(error))
        }
    }

    /// Shows that it has come back.
    func back() throws(OutputError) {
        if self.options.json {
            if let line = PresenceLine.back { try StandardOutput.write(line.text) }
        } else {
            try StandardOutput.write(self.options.text.back)
        }
    }
}
