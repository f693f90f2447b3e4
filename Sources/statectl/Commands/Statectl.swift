import ArgumentParser
import Dispatch
import Glibc
import NIOCore
import Processes
import StateMachineClient
import StateMachineCore

/// Shows and sets the state that a statemachine daemon holds.
@main
struct Statectl: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "statectl",
        abstract: "Show, set and follow the state that a statemachine daemon holds.",
        discussion: """
            Patterns such as ready:value=true and times such as 30s: statectl help patterns.

            Exit codes: 0 yes, reached, accepted; 1 no, refused, failed state; 2 usage, unknown \
            state, bad data; 69 daemon not reachable; 75 connection lost for good; 77 not \
            permitted; 78 a file with errors; 124 timeout. hold ends as its command does.
            """,
        version: StateMachineVersion.current,
        subcommands: [PatternsTopic.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Look",
                subcommands: [
                    GetCommand.self, StatusCommand.self, TopCommand.self, MachinesCommand.self,
                    HistoryCommand.self, DescribeCommand.self, StatsCommand.self, HostsCommand.self,
                    PingCommand.self,
                ]
            ),
            CommandGroup(
                name: "Change",
                subcommands: [
                    SetCommand.self, SendCommand.self, UpdateCommand.self, ReloadCommand.self,
                ]
            ),
            CommandGroup(
                name: "Wait and follow",
                subcommands: [WatchCommand.self, WaitCommand.self, IsCommand.self]
            ),
            CommandGroup(
                name: "Hold and guard",
                subcommands: [HoldCommand.self, GuardCommand.self, ReleaseCommand.self]
            ),
            CommandGroup(
                name: "Files",
                subcommands: [
                    CheckCommand.self, TryCommand.self, ReplayCommand.self, SchemaCommand.self,
                    CodegenCommand.self,
                ]
            ),
            CommandGroup(name: "Draw", subcommands: [GraphCommand.self, TimelineCommand.self]),
        ]
    )

    @OptionGroup var options: SharedOptions

    /// Whoever types nothing else wants to see something.
    func run() async throws { try await StatusCommand.show(self.options) }

    /// The words of a command line in a form that the parser can tell apart.
    ///
    /// With a command that takes any number of patterns, it cannot tell where another list begins;
    /// after `watch`, `--` is taken for `--exec`, and the words after it are ``verbatim``.
    static func words(_ arguments: some Sequence<String>) -> [String] {
        var words = Array(arguments)
        // A question from a shell's completion script, which has a "--" of its own.
        if words.first == "---completion" { return words }
        var end = words.firstIndex { $0 == "--" || $0 == "--exec" } ?? words.endIndex
        let rest = words.count - end
        words = ArgumentWords.separated(words, upTo: end)
        end = words.count - rest
        let names = self.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard end < words.endIndex, words[..<end].first(where: names.contains) == "watch"
        else { return words }
        let start = words[end...].prefix(2) == ["--exec", "--"] ? end + 2 : end + 1
        words[end...] = ["--exec"] + words[start...].map { self.verbatim + $0 }
        return words
    }

    /// What is put before each word of the program that is to be run, so that none is taken for an option of ours;
    /// a word of a command line cannot contain it.
    static let verbatim = "\0"

    /// The command that the words stand for.
    ///
    /// A problem with an option is reported before one with its value, which counts as a word where
    /// there is no such option.
    static func command(_ words: [String]) async throws -> any ParsableCommand {
        let check = WordCheck(words)
        if let objection = check.objectionToTopic { throw ValidationError(objection) }
        // There is no help for what does not exist.
        if words.contains(where: { ["--help", "-h"].contains($0) }),
            let objection = check.objectionToCommand
        {
            throw UsageError(objection, to: self)
        }
        let command: any ParsableCommand
        do {
            command = try await self.asyncParseAsRoot(words)
        } catch {
            // Help and completions come as errors too.
            guard !self.exitCode(for: error).isSuccess,
                let objection = check.objection(insteadOf: self.message(for: error))
            else { throw error }
            throw UsageError(objection, to: check.type)
        }
        if let objection = check.objection(beside: words) {
            throw UsageError(objection, to: type(of: command))
        }
        return command
    }

    /// A command's help with its examples at the end, where a terminal shows them last.
    static func endingWithExamples(_ help: String) -> String {
        guard let start = help.firstRange(of: "\n\nExamples:\n")?.lowerBound,
            let end = help[start...].firstRange(of: "\n\nUSAGE:")?.lowerBound
        else { return help }
        var whole = help[..<start] + help[end...]
        while whole.last == "\n" { whole.removeLast() }
        return String(whole + help[start..<end]).replacing("\n\nExamples:", with: "\n\nEXAMPLES:")
    }

    /// - Throws: what the command throws, and `UsageError` for options that it finds wrong only
    ///   when it runs.
    private static func run(_ command: any ParsableCommand) async throws {
        var command = command
        do {
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let error as ValidationError {
            throw UsageError(error.message, to: type(of: command))
        } catch ClientError.refused(let reply) {
            guard let command = command as? any DaemonCommand else {
                throw ClientError.refused(reply)
            }
            try command.options.refuse(reply)
        }
    }

    static func main() {
        ProcessStart.prepare("statectl", orExit: ExitStatus.unreachable.rawValue)
        // One connection needs one thread, and threads cost time at the start.
        NIOSingletons.groupLoopCountSuggestion = 1
        let words = WordCheck(Array(CommandLine.arguments.dropFirst()))
        if let objection = ArgumentWords.objection(inFirst: words.programStart) {
            StandardError.say(objection)
            Glibc.exit(ExitStatus.usage.rawValue)
        }
        // On the main actor from the first line, so that nothing runs on Dispatch's global queues.
        Task { @MainActor in
            await withTaskExecutorPreference(QueueExecutor.shared) {
                await self.perform(CommandLine.arguments.dropFirst())
            }
        }
        dispatchMain()
    }

    /// Does what the words ask for, and ends the process.
    private static func perform(_ arguments: ArraySlice<String>) async {
        do {
            try await self.run(try await self.command(self.words(arguments)))
            Glibc.exit(EXIT_SUCCESS)
        } catch let end as ProcessEnd {
            end.perform()
        } catch {
            Glibc.exit(ExitStatus.reporting(error).rawValue)
        }
    }
}

/// What "statectl help patterns" explains; it does nothing.
struct PatternsTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "patterns",
        abstract: "How patterns, values and times are written.",
        usage: "",
        discussion: """
            ready                  that state, or the states of that group
            ready:value=true,n=2   that state with these fields; others may be anything
            'ready:n>=2,n<9'       that state with such numbers: = != < <= > >=; != is for any value
            !ready                 every state but that; a shell wants it quoted

            A shell takes < and > for redirections, so quote them. A field that is not there makes every comparison false.

            Where one pattern can be given, several can: together they select all that any of them selects, \
            less what !PATTERN excludes.

            key=value              a value, read as the type of its field says
            key:=JSON              a value in JSON, such as n:=2 or tags:='["a"]'
            value                  the value of the one field that must be given

            200ms, 30s, 2min or 2m, 1h30min, 2d or a number of seconds is a time.
            """,
        shouldDisplay: false
    )

    func run() throws { throw CleanExit.helpRequest(self) }
}
