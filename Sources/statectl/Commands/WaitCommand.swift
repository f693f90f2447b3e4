import ArgumentParser
import StateMachineClient
import StateMachineCore

struct WaitCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until a state is reached.",
        usage: """
            statectl wait PATTERN … [--fail PATTERN …] [--for TIME] [--timeout TIME] [--since CURSOR] [--no-wait]
            """,
        discussion: """
            Waits for the daemon too if it is not running, and continues by itself when it restarts. With --for it \
            ends when the states have lasted that long without a break; the time that the current state has already \
            lasted counts.

            Examples:

              statectl wait dim bright --timeout 5min
              statectl wait dim bright --for 2s && echo "lit for two seconds"
            """
    )

    @OptionGroup var options: SharedOptions

    @OptionGroup var format: FormatOption

    @Argument(help: .value("pattern", "States to wait for."))
    var patterns: [Pattern] = []

    @Option(
        parsing: .upToNextOption,
        help: .value("pattern", "States that end the wait with exit code 1.")
    )
    var fail: [Pattern] = []

    @Option(help: .value("time", "Give up after this time, with exit code 124."))
    var timeout: Seconds?

    @Option(help: .value("cursor", "Take the changes after this cursor into account."))
    var since: String?

    @Option(
        name: .customLong("for"),
        help: .value("time", "Wait until the states have lasted this long, without a break.")
    )
    var span: Seconds?

    @Flag(help: "End, with exit code 69, if the daemon is not there.")
    var noWait = false

    func validate() throws {
        try self.format.check(beside: self.options)
        guard !self.patterns.isEmpty else {
            throw ValidationError(
                "name the states to wait for: statectl wait PATTERN … [--fail PATTERN …]"
            )
        }
        guard self.span == nil || self.since == nil else {
            throw ValidationError("--for is about the state from now on; leave --since out")
        }
    }

    func run() async throws {
        let isPatient = !self.noWait && self.timeout?.duration != .zero
        var left = self.timeout?.duration
        let client = try await self.options.client(isPatient: isPatient, within: &left)
        let target = MachineTarget(options: self.options, format: try self.format.parsed)
        try await target.format?.check(client)
        if let span = self.span?.duration {
            let wait = LastingWait(
                client: client,
                patterns: self.patterns,
                fail: self.fail,
                span: span,
                timeout: left,
                isPatient: isPatient
            )
            return try await self.finish(wait, target)
        }
        let reply = try await client.wait(
            until: self.patterns,
            fail: self.fail,
            since: self.since,
            timeout: left,
            isPatient: isPatient,
            interrupted: { error, attempt, _ in
                guard attempt == 1 else { return }
                // A daemon unreachable at the first attempt has not been there yet.
                let isAwaited = if case .unreachable = error { true } else { false }
                let trouble = isAwaited ? error.awaiting : error.reconnecting
                StandardError.write("statectl: \(trouble)")
            },
            reconnected: { StandardError.write("statectl: connected") }
        )
        try self.show(try reply.accepted(), target)
    }

    private func show(_ line: Line, _ target: MachineTarget) throws {
        try target.print(line) { $0.report(line) }
    }

    private func finish(_ wait: LastingWait, _ target: MachineTarget) async throws {
        switch try await wait.run() {
        case .lasted(let line): try self.show(line, target)
        case .failed(let line):
            if self.options.json { try StandardOutput.offer(line.text) }
            let state = line.state?.text ?? "a state"
            StandardError.write("statectl: reached \(state), which counts as failure")
            throw ExitStatus.no
        case .timeUp:
            StandardError.write(
                "statectl: it has not lasted that long within the timeout"
            )
            throw ExitStatus.timeout
        }
    }
}
