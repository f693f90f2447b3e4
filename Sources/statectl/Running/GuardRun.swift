import Glibc
import StateMachineClient
import StateMachineCore

/// A guard whose votes are a command's exit codes.
struct GuardRun: Sendable {
    private struct Answer: Sendable {
        let isAllowed: Bool
        let why: String?
    }

    let guarding: Guard
    let command: ChildCommand
    /// The reason for a no that the command gives none for.
    let why: String?
    /// Whether the states that it guards are denied while it is not connected.
    var isRequired = false
    /// Called with what goes right.
    var report: @Sendable (String) -> Void = { _ in }
    /// Called with what goes wrong.
    var complain: @Sendable (String) -> Void = { StandardError.write("statectl: \($0)") }

    /// Answers questions until there is a signal, or trying again cannot help.
    func run() async throws {
        try await Race.run(
            { try await self.answerAll() },
            // What others have to wait for ends with its script, in the background too; SIGHUP that was ignored
            // stays so: that is what nohup(1) is for.
            { try await Race.signal(evenIgnored: [SIGINT, SIGTERM]) }
        )
    }

    /// Answers questions until the task is cancelled.
    ///
    /// The daemon asks one question at a time, and a next one only after it has given up the last;
    /// the command of that one may still be about to end.
    func answerAll() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var isAnew = false
            for try await event in self.guarding {
                switch event {
                case .registered(let number):
                    if isAnew {
                        self.complain("connected; guard \(number) is registered again")
                    } else {
                        let command = self.command.words[0].printable
                        self.report("guard \(number) is registered; \(command) decides")
                    }
                    isAnew = true
                case .asked(let question): group.addTask { try await self.answer(question) }
                case .interrupted(let error, let attempt, _):
                    guard attempt == 1 else { continue }
                    self.complain("\(error.reconnecting), \(Self.until(self.isRequired))")
                }
            }
        }
    }

    /// What becomes of the states until it is connected again.
    static func until(_ isRequired: Bool) -> String {
        isRequired
            ? "what it guards is denied"
            : "nobody is asked; but at a new start with a history the daemon waits 10 s for it first"
    }

    private func answer(_ question: Guard.Question) async throws {
        let line = question.line
        let asked = "\(line.state?.text ?? "?") → \(line.destination?.text ?? "?")"
        self.report("asked about \(asked)")
        guard let answer = try await self.answer(on: line) else { return }
        let why = answer.why.map { ": \($0.printable)" } ?? ""
        self.report(
            "\(answer.isAllowed ? "allowed" : "denied") \(asked)\(answer.isAllowed ? "" : why)"
        )
        do {
            try await question.vote(allow: answer.isAllowed, why: answer.why)
        } catch {
            // The daemon that asked is gone and has let the state in; the iteration reports the
            // connection.
        }
    }

    /// The command's answer; nil if it did not come in time.
    private func answer(on line: Line) async throws -> Answer? {
        var entries: [Race.Entry<Answer?>] = [{ await self.ask(line) }]
        if let left = line.timeLeft {
            entries.append {
                try await QuietClock().sleep(for: left)
                return nil
            }
        }
        let answer = try await Race.run(entries)
        // A command that was told to end has not decided anything.
        try Task.checkCancellation()
        if answer == nil {
            let name = self.command.words[0].printable
            self.complain("\(name) took longer than the daemon waits, and was stopped")
        }
        return answer
    }

    private func ask(_ line: Line) async -> Answer {
        let (ending, complaint) = await self.command.runKeepingComplaint(
            environment: LineEnvironment.question(line),
            input: line.text + "\n"
        )
        switch ending {
        case .exited(0): return Answer(isAllowed: true, why: nil)
        case .exited: break
        case .signalled, .notFound, .notStarted:
            // Cancellation shows as a signal; whose it was does not matter any more then.
            if !Task.isCancelled, let words = ending.complaint(about: self.command) {
                self.complain(words)
            }
        }
        return Answer(isAllowed: false, why: complaint ?? self.why)
    }
}
