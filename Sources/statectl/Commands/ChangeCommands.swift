import ArgumentParser
import StateMachineClient
import StateMachineCore

struct SetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set the state.",
        usage: "statectl set STATE [key=value … | --data JSON] \(ChangeOptions.usage) [--reenter]",
        discussion: """
            Examples:

              statectl set dim level=40
              statectl set dark --if-state dim --cause "saving power"
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The state's name.", completion: .offering { await $0.states })
    var state: String

    @Argument(
        help: .value(
            "key=value",
            "Its values: key=value, or a value alone for the one field that needs it."
        ),
        completion: .offering { await $0.valuesOfState }
    )
    var values: [String] = []

    @OptionGroup var change: ChangeOptions

    @Flag(help: "Make a transition even if the state is the same.")
    var reenter = false

    func validate() throws { try self.change.check(self.values) }

    func run() async throws {
        let fields = try self.change.typed.fields(self.values)
        let call = SetCall(self.state, reenter: self.reenter)
        let request = Request(.set(self.change.completed(call, with: fields)))
        try await self.change.make(request, with: self.options)
    }
}

struct SendCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send an event to the machine.",
        usage: "statectl send EVENT [key=value … | --data JSON] \(ChangeOptions.usage) [--must]",
        discussion: """
            The present state's "when" says where the event leads. An event that the present state does not handle \
            changes nothing; with --must this is an error, with exit code 1.

            Examples:

              statectl send press
              statectl send move --must
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(help: "The event's name.", completion: .offering { await $0.events })
    var event: String

    @Argument(
        help: .value(
            "key=value",
            "What it carries: key=value, or a value alone for the one field that needs it."
        ),
        completion: .offering { await $0.valuesOfEvent }
    )
    var values: [String] = []

    @OptionGroup var change: ChangeOptions

    @Flag(help: "End with exit code 1 if the state does not handle the event.")
    var must = false

    func validate() throws { try self.change.check(self.values) }

    func run() async throws {
        let fields = try self.change.typed.fields(self.values)
        let call = self.change.completed(SendCall(self.event), with: fields)
        let reply = try await self.change.make(Request(.send(call)), with: self.options) { reply in
            reply.isHandled == false ? "does not handle \(self.event)" : nil
        }
        if self.must, reply.isHandled == false { throw ExitStatus.no }
    }
}

struct UpdateCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change fields of the present state without leaving it.",
        usage:
            "statectl update key=value key+=NUMBER key-=NUMBER … | --data JSON \(ChangeOptions.usage)",
        discussion: """
            Deadlines and commands continue. key:=null removes a field that may be absent. key+=1 adds to the value that the field has \
            when the update's turn comes (key-=1 subtracts), so several clients can count without losing anything. \
            A hold or guard of certain values is asked about an update that leads to them: it may be denied, and may wait.

            Examples:

              statectl update level=60
              statectl update level-=10
            """
    )

    @OptionGroup var options: SharedOptions

    @Argument(
        help: .value(
            "key=value",
            "The new values: key=value, or key+=NUMBER and key-=NUMBER to count from the present one."
        ),
        completion: .offering { await $0.valuesOfPresent }
    )
    var values: [String] = []

    @OptionGroup var change: ChangeOptions

    func validate() throws {
        guard !self.values.isEmpty || self.change.typed.data != nil else {
            throw ValidationError("name the fields: statectl update key=value …")
        }
        try self.change.check(self.values, isUpdate: true)
    }

    func run() async throws {
        let fields = try self.change.typed.fields(self.values, isUpdate: true)
        let call = self.change.completed(UpdateCall(adding: fields?.amounts ?? []), with: fields)
        try await self.change.make(Request(.update(call)), with: self.options)
    }
}

struct ReloadCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon read its files again.",
        discussion: """
            The settings and the machine's file, as on SIGHUP, but with an answer: what is in force now, and which \
            settings wait for the next start. If anything is wrong, nothing changes and every error is shown. For \
            root and the daemon's own user. Exit codes: 0 done, 77 not permitted, 78 refused.

            Examples:

              statectl reload
              statectl reload --json
            """
    )

    @OptionGroup var options: SharedOptions

    func run() async throws {
        let reply = try await self.options.answer(
            to: .reload,
            doubt: "the files may or may not have been read again: statectl describe"
        )
        guard reply.isOK == true else {
            guard reply.error == .badFile, !self.options.json else {
                throw ClientError.refused(reply)
            }
            for problem in reply["problems"]?.elements ?? [] {
                StandardError.write((problem.string ?? problem.description).printable)
            }
            throw Refusal("the reload was refused, and nothing has changed", .configuration)
        }
        try self.options.print(reply) { $0.report(reply, Self.text(reply)) }
    }

    /// What is in force: `declared by 1.4`.
    private static func text(_ reply: Line) -> String {
        var parts: [String] = []
        if let name = reply.version ?? reply.declaration.map({ String($0.prefix(12)) }) {
            parts.append("declared by \(name.printable)")
        }
        if let later = reply["atNextStart"]?.elements, !later.isEmpty {
            parts.append("at the next start: \(later.map(\.shortText).joined(separator: ", "))")
        }
        if reply["restarts"]?.bool == true { parts.append("another process takes over") }
        return parts.isEmpty ? "reloaded" : parts.joined(separator: "; ")
    }
}
