import StateMachineClient

/// Prints the lines of a watch or a history: as they are, as text for people, or in a format.
struct LinePrinter: Sendable {
    let options: SharedOptions
    /// What its lines are marked with; nil where there is one machine.
    var mark: MachineMark?
    /// The format of each line; nil for the text for people.
    var format: LineFormat?
    /// The columns of the lines shown so far.
    private let columns: Columns

    init(
        options: SharedOptions,
        mark: MachineMark? = nil,
        format: LineFormat? = nil,
        columns: Columns = Columns(width: StandardOutput.columns)
    ) {
        (self.options, self.mark, self.format) = (options, mark, format)
        self.columns = columns
    }

    /// Shows a line if it has anything that was asked for; with `isBack` it is the first line with
    /// the state since the daemon came back.
    func show(_ line: Line, isBack: Bool = false) throws(OutputError) {
        if self.options.json {
            if line.isSelected || line.resync != nil || line.kind != .state {
                try self.write(json: line)
            }
        } else if let format = self.format {
            if let notice = self.text.notice(line) { StandardError.write("statectl: \(notice)") }
            guard line.isSelected, let event = isBack ? .back : WatchEvent(line) else { return }
            try self.write(line, event, format)
        } else if let text = self.text.event(line, in: self.columns) {
            try self.write(text)
        }
    }

    /// Shows that the daemon is gone.
    func gone(_ error: ClientError) throws(OutputError) {
        if self.options.json, case .dismissed(let farewell) = error {
            try self.write(json: farewell)
        }
        guard let line = PresenceLine.gone(error) else { return }
        if self.options.json {
            try self.write(json: line)
        } else if let format = self.format {
            // Without a state, which is not known.
            try self.write(line, .gone, format)
        } else {
            try self.write(self.text.gone(error))
        }
    }

    /// Shows that the daemon is back; the next line of a state, or of a replay's end, tells which.
    func back() throws(OutputError) {
        guard let line = PresenceLine.back else { return }
        if self.options.json {
            try self.write(json: line)
        } else if self.format == nil {
            try self.write(self.text.back)
        }
    }

    /// Shows the end of a history; `text`, for people, goes where no program reads it.
    func end(_ reply: Line, as text: String?) throws(OutputError) {
        if self.options.json {
            try self.write(json: reply)
        } else if let text {
            if self.format == nil, StandardOutput.isTerminal {
                try self.write(text)
            } else {
                StandardError.write("statectl: \(text)")
            }
        }
    }

    /// The standard input of a command that is run for the line.
    func input(_ line: Line, as event: WatchEvent) -> String {
        if let format { return self.text(line, event, format) + "\n" }
        return (self.mark?.marked(json: line.text) ?? line.text) + "\n"
    }

    // MARK: - Writing

    private var text: LineText {
        var text = self.options.text
        if let width = text.width, let mark = self.mark {
            text.width = max(0, width - mark.columns)
        }
        return text
    }

    private func write(json line: Line) throws(OutputError) {
        try StandardOutput.write(self.mark?.marked(json: line.text) ?? line.text)
    }

    private func write(_ text: String) throws(OutputError) {
        try StandardOutput.write(self.mark?.marked(text: text, self.options.text) ?? text)
    }

    private func write(
        _ line: Line,
        _ event: WatchEvent,
        _ format: LineFormat
    ) throws(OutputError) {
        try StandardOutput.write(self.text(line, event, format))
    }

    private func text(_ line: Line, _ event: WatchEvent, _ format: LineFormat) -> String {
        format.text(
            line,
            event: event.rawValue,
            instance: self.mark?.name,
            self.options.text
        )
    }
}

extension WatchEvent {
    /// The event that a line reports; nil if nothing has happened.
    init?(_ line: Line) {
        switch line.kind {
        case .state: self = .state
        case .change: self = .change
        case .beat: self = .beat
        case .other where StuckLine.isOne(line): self = .stuck
        case .reply, .live, .declared, .ask, .bye, .other: return nil
        }
    }
}
