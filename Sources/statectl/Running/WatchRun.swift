import StateMachineClient
import StateMachineCore

/// A watch and what is done with its lines.
struct WatchRun: Sendable {
    let watch: Watch
    let options: SharedOptions
    /// After so many lines it ends.
    var count: Int?
    /// Run for the lines, which are shown otherwise.
    var queue: CommandQueue?
    /// Keeps the cursor of the last line that was shown, or whose command has ended.
    var keeper: CursorKeeper?

    /// Follows the watch to its end, which may be a signal.
    ///
    /// A command that runs then is let finish; a second signal does what it always does.
    func run() async throws {
        let end = await withTaskGroup(of: Void.self) { group in
            if let queue = self.queue { group.addTask { await queue.run() } }
            let end = await self.followed()
            switch end {
            case .success: self.queue?.finish()
            case .failure: self.queue?.stop()
            }
            await group.waitForAll()
            return end
        }
        do {
            try self.keeper?.write()
        } catch {
            // What ended the watch comes first; it may have been this very thing.
            try end.get()
            throw error
        }
        try end.get()
    }

    private func followed() async -> Result<Void, any Error> {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.follow() }
                if self.queue == nil {
                    group.addTask {
                        await ReaderWatch.readerIsGone()
                        throw OutputError.readerGone
                    }
                }
                if let keeper = self.keeper { group.addTask { try await keeper.run() } }
                if self.queue != nil || self.keeper != nil {
                    group.addTask {
                        for await number in Signals.stream(Signals.ending) {
                            throw ProcessEnd.signal(number)
                        }
                    }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func follow() async throws {
        var taken = 0
        for try await event in self.watch {
            switch event {
            case .line(let line):
                try self.take(line)
                switch line.kind {
                case .state, .change: taken += 1
                case .reply, .live, .declared, .ask, .beat, .bye, .other: break
                }
            case .reached: return
            case .interrupted(let error, let attempt, _):
                if case .dismissed(let farewell) = error, self.options.json, self.queue == nil {
                    try StandardOutput.write(farewell.text)
                }
                guard attempt == 1 else { continue }
                StandardError.write("statectl: \(error.description.printable); reconnecting")
            }
            if taken == self.count { return }
        }
    }

    private func take(_ line: Line) throws {
        if let queue = self.queue {
            switch line.kind {
            case .state, .change, .beat: queue.add(line)
            // Nothing has happened since the line before.
            case .live, .declared, .reply, .ask, .bye, .other: break
            }
            return
        }
        if self.options.json {
            try StandardOutput.write(line.text)
        } else if let text = self.options.text.event(line) {
            try StandardOutput.write(text)
        }
        self.keeper?.note(line.cursor)
    }
}
