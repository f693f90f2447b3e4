import ArgumentParser
import StateMachineClient
import StateMachineCore

struct IsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "is",
        abstract: "Check whether the state is one of these.",
        discussion: """
            Shows the current state; the exit code is 0 for yes and 1 for no. With --for it is yes only if one of \
            these states has lasted that long without a break, as far back as the daemon keeps changes.

            Examples:

              statectl is dark dim
              statectl is -q bright || echo "not bright"
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: .value("pattern", "States to compare with."))
    var patterns: [Pattern]

    @Flag(name: .shortAndLong, help: "Show nothing; the exit code is the answer.")
    var quiet = false

    @Option(
        name: .customLong("for"),
        help: .value("time", "Whether the state has lasted this long.")
    )
    var span: Seconds?

    func run() async throws {
        // A wait with no time: the daemon evaluates, and tells a misspelt state from a no.
        let request = Request.wait(until: self.patterns, timeout: .zero)
        let client = try self.options.client
        let reply = try await client.reply(to: request)
        if reply.error != .timeout { _ = try reply.accepted() }
        var isYes = reply.isOK == true
        if isYes, let span = self.span?.duration {
            let past = LastingPast(client: client, patterns: self.patterns)
            isYes = try await past.hasLasted(reply, span, age: client.age(of: reply))
        }
        if !self.quiet { try self.options.print(reply) { $0.report(reply) } }
        if !isYes { throw ExitStatus.no }
    }
}
