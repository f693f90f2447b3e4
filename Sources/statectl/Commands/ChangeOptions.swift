public import ArgumentParser
public import StateMachineClient
import StateMachineCore

/// What `set`, `send` and `update` have in common: values, conditions, the cause, and for how long to try.
struct ChangeOptions: ParsableArguments {
    /// The options, for the usage of a command.
    static let usage = """
        [--if-seq N|CURSOR] [--if-state PATTERN] [--unless-state PATTERN] [--if-stay N|CURSOR] [--cause TEXT] [--wait TIME] [--force]
        """

    @OptionGroup var typed: TypedValues

    @OptionGroup var conditions: Conditions

    @Option(help: .value("text", "The reason, shown with the change."))
    var cause: String?

    @Option(
        help: .value(
            "time",
            "If it is denied, try again for this long.",
            """
            After each change of the state, and after pauses from 200ms to 2s. A daemon that is not there is waited for, too. \
            When the time is up, the last refusal says who stood against it, and the exit code is 124; an attempt that is under \
            way then is waited for. A condition that does not hold is refused at once; a connection that is lost before the \
            answer ends it, with exit code 75.
            """
        )
    )
    var wait: Seconds?

    @Flag(
        help: ArgumentHelp(
            "Ask no hold and no guard.",
            discussion: """
                For root and the daemon's own user. What may not follow, or does not fit, is refused as ever. The change is shown \
                as forced, and the daemon's log names the holds and guards that it has passed over.
                """
        )
    )
    var force = false

    /// The request with the values, the conditions, the cause, and whether voters are passed over.
    func completed<Call: ChangeCall>(_ call: Call, with fields: FieldWords?) -> Call {
        var call = call
        if let fields {
            call.words = fields.words
            // An update that only adds has no data.
            if fields.amounts.isEmpty || !fields.values.isEmpty {
                call.data = GivenValue(.object(fields.values))
            }
        }
        call.condition = ChangeCondition(
            ifSeq: self.conditions.ifSeq,
            ifState: self.conditions.patterns,
            ifStay: self.conditions.ifStay
        )
        call.cause = self.cause
        call.isForced = self.force
        return call
    }

    /// Requests the change, for as long as is to be tried, and prints where that led; `remark` adds what else to say about
    /// the reply.
    @discardableResult
    func make(
        _ request: Request,
        with options: SharedOptions,
        remark: (Line) -> String? = { _ in nil }
    ) async throws -> Line {
        let length = request.line.count - 1
        guard length <= RequestLimits.lineBytes else {
            throw Refusal(
                "the request is too long: it has \(length) bytes, and may have \(RequestLimits.lineBytes)",
                .usage
            )
        }
        let doubt = "the state may or may not have been changed: statectl get"
        let reply: Line
        if let time = self.wait?.duration {
            reply = try await options.answer(to: request, tryingFor: time, doubt: doubt).accepted()
        } else {
            reply = try await options.answer(to: request, doubt: doubt).accepted()
        }
        try options.print(reply) {
            $0.report(reply, remark(reply) ?? (reply.hasChanged == false ? "unchanged" : nil))
        }
        return reply
    }

    /// Reports what can be told to be wrong before anything is read.
    func check(_ words: [String], isUpdate: Bool = false) throws {
        try self.typed.check(words, isUpdate: isUpdate)
        try OptionLimits.checkText("--cause", self.cause)
    }
}

/// The conditions on the machine for a change to be made.
struct Conditions: ParsableArguments {
    @Option(
        help: .value(
            "n|cursor",
            "Only if the machine is at this change: its number, or its cursor."
        )
    )
    var ifSeq: ExpectedChange?

    @Option(
        help: .value("pattern", "Only if the current state matches; if given again, one of them.")
    )
    var ifState: [Pattern] = []

    @Option(
        help: .value(
            "pattern",
            "Only if the current state does not match; if given again, none of them."
        )
    )
    var unlessState: [Pattern] = []

    @Option(
        help: .value(
            "n|cursor",
            "Only in the stay that began with this change: {stay}, or {stayCursor}.",
            "A number fits the stay of that number in any history, a cursor only in its own or one that continues it."
        )
    )
    var ifStay: ExpectedChange?

    /// What the current state has to match.
    var patterns: [Pattern] { self.ifState + self.unlessState.map(!) }

    func validate() throws {
        try OptionLimits.checkNumber("--if-seq", self.ifSeq)
        try OptionLimits.checkNumber("--if-stay", self.ifStay)
        try OptionLimits.checkExceptions("--unless-state", self.unlessState, instead: "--if-state")
    }
}

extension ExpectedChange: ExpressibleByArgument {
    /// A number or a cursor; nil for anything else.
    public init?(argument: String) {
        if let seq = UInt64(argument) {
            self = .seq(seq)
        } else if Cursor(argument) != nil {
            self = .cursor(argument)
        } else {
            return nil
        }
    }
}

extension SharedOptions {
    /// The reply to a request that changes something, whatever it says and however long it takes; `doubt` says what may
    /// have happened if none comes.
    func answer(to request: Request, doubt: String) async throws -> Line {
        // Without a limit: guards are asked, holds may last, and disks may be slow.
        let client = try self.client
        return try await Self.doubting(doubt) {
            try await client.reply(to: request, within: nil, stillWaiting: Self.report)
        }
    }

    /// The same, requested again for that long while it is put off.
    fileprivate func answer(
        to request: Request,
        tryingFor time: Duration,
        doubt: String
    ) async throws -> Line {
        var left: Duration? = time
        let client = try await self.client(isPatient: time > .zero, within: &left)
        var hasSaid = false
        do {
            return try await Self.doubting(doubt) {
                try await client.reply(
                    to: request,
                    tryingFor: left ?? time,
                    stillWaiting: Self.report
                ) { reason in
                    guard !exchange(&hasSaid, with: true), StandardError.isTerminal else { return }
                    StandardError.say("\(self.sentence(reason)); trying again")
                }
            }
        } catch let end as TimeUp {
            if case .refused(let reply) = end.last, self.json {
                try StandardOutput.offer(reply.text)
                throw ExitStatus.timeout
            }
            let span = SpanText.text(time.wholeMicroseconds)
            throw Refusal("not done within \(span): \(self.sentence(end.last))", .timeout)
        }
    }

    /// Why something was not done.
    private func sentence(_ error: ClientError) -> String {
        guard case .refused(let reply) = error else { return error.description.printable }
        return self.text.refusal(reply)
    }

    /// Says what may have happened where no answer came.
    private static func doubting(
        _ doubt: String,
        _ body: () async throws -> Line
    ) async throws -> Line {
        do {
            return try await body()
        } catch let error as ClientError where error.mayHaveHappened {
            throw Refusal("\(error.description.printable); \(doubt)", .lost)
        }
    }

    /// Says on a terminal what is known while no answer has come.
    private static let report: @Sendable (Bool) -> Void = { isAlive in
        guard StandardError.isTerminal else { return }
        StandardError.say(
            isAlive
                ? "the daemon is alive but has not answered yet; a hold or guard may be delaying it: statectl status"
                : "the daemon does not answer, nor does it show a sign of life yet"
        )
    }
}
