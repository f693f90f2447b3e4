import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

/// What the file says is to be run, with all that its commands are given, and whether the daemon has
/// the same file.
struct DeclaredCommands: Sendable {
    private enum Agreement: Hashable {
        case unknown
        case agreed
        case differs
    }

    private let label: MachineLabel
    private let directory: RuntimeDirectory
    private var declaration: Declaration
    private var agreement = Agreement.unknown

    /// The commands of the machine whose daemon has its doors in that directory.
    init(_ declaration: Declaration, label: MachineLabel, directory: RuntimeDirectory) {
        self.declaration = declaration
        self.label = label
        self.directory = directory
    }

    /// Whether it is known that the daemon has the same file.
    var isAgreed: Bool { self.agreement == .agreed }

    /// The file, if the daemon has the same one.
    var inForce: FileInForce? { self.isAgreed ? FileInForce(declaration: self.declaration) : nil }

    /// Whether the file that the daemon has declares nothing to run.
    var isNeedless: Bool { self.isAgreed && !self.declaration.hasCommands }

    /// Notes that the file was read and is what the daemon has; returns whether it was not, before.
    mutating func agreed(on declaration: Declaration) -> Bool {
        defer { self.agreement = .agreed }
        self.declaration = declaration
        return self.agreement == .differs
    }

    /// Notes that the file is not what the daemon has; returns whether that is new.
    mutating func disagreed() -> Bool {
        defer { self.agreement = .differs }
        return self.agreement != .differs
    }

    /// The state as the file declares it, or the one that was in force; nil if that does not know it.
    func state(_ state: NamedState, of file: FileInForce? = nil) -> DeclaredState? {
        do {
            let declaration = file?.declaration ?? self.declaration
            return try declaration.carried(state)
        } catch {
            // What the file does not know has no commands.
            return nil
        }
    }

    /// Whether that is an end that the file does not provide for; `state` is nil for a hook.
    func isFailure(_ kind: RunEnd, in state: NamedState?) -> Bool {
        switch kind {
        case .exit(0), .interrupted: return false
        case .exit(let code):
            guard let state else { return true }
            return self.state(state)?.declared.run?.exits[code] == nil
        case .signal, .timeout: return true
        }
    }

    /// What is run in a stay, with its state's present values.
    func order(
        _ run: StateDeclaration.Run,
        of stay: EnteredStay,
        in state: DeclaredState,
        _ work: RunWork
    ) -> CommandOrder {
        let present = NamedState(state.declared.name, state.data.members ?? [])
        // It keeps the name that it was begun with, whatever the state is called now.
        let name = work.name ?? CommandName(self.label, state: present.name, .run, seq: stay.number)
        var variables = LineEnvironment.watch(stay.line, resync: nil)
        variables.merge(LineEnvironment.state(present)) { $1 }
        variables["STATEMACHINE_STAY_CURSOR"] = stay.cursor
        let attempt = work.progress.attempt
        return self.order(name, run.command, in: state, stay.line, variables, stay.number, attempt)
    }

    /// The first of a change's hooks that is still to come; nil if there is none.
    func next(of hooks: HookWork) -> CommandOrder? {
        let left = hooks.left.flatMap { self.state($0, of: hooks.file) }
        let entered = self.state(hooks.change.state, of: hooks.file)
        if let left, let name = hooks.left?.name,
            let order = self.next(of: hooks, left.declared.leave, Key.leave, in: left, called: name)
        {
            return order
        }
        guard let entered else { return nil }
        let name = entered.declared.name
        return self.next(of: hooks, entered.declared.enter, Key.enter, in: entered, called: name)
    }

    private typealias Key = CommandName.Key

    private func next(
        of hooks: HookWork,
        _ commands: [DeclaredCommand],
        _ key: (Int) -> Key,
        in state: DeclaredState,
        called stateName: String
    ) -> CommandOrder? {
        let change = hooks.change
        guard let index = commands.indices.first(where: { hooks.isAhead(key($0 + 1)) }) else {
            return nil
        }
        let name = CommandName(self.label, state: stateName, key(index + 1), seq: change.stay)
        var variables = LineEnvironment.watch(change.line, resync: nil)
        if change.from == nil, let left = hooks.left {
            variables.merge(LineEnvironment.from(left)) { $1 }
        }
        let isLeaving = if case .leave = name.key { true } else { false }
        let stay = (isLeaving ? hooks.leftStay : nil) ?? change.stay
        let command = commands[index]
        let attempt = hooks.work.progress.attempt
        return self.order(name, command, in: state, change.line, variables, stay, attempt)
    }

    private func order(
        _ name: CommandName,
        _ command: DeclaredCommand,
        in state: DeclaredState,
        _ line: Line,
        _ variables: [String: String?],
        _ stay: UInt64,
        _ attempt: Int
    ) -> CommandOrder {
        var all = variables.compactMapValues(\.self)
        all["STATEMACHINE_MACHINE"] = self.label.machine
        all["STATEMACHINE_STAY"] = "\(stay)"
        all["STATEMACHINE_KEY"] = name.key.description
        all["STATEMACHINE_ATTEMPT"] = "\(attempt)"
        all["RUNTIME_DIRECTORY"] = self.directory.path
        all[RuntimeDirectory.variable] = self.directory.path
        let own = all.sorted { $0.key < $1.key }
            .map { DeclaredCommand.Variable(name: $0.key, value: $0.value) }
        return CommandOrder(
            name: name,
            title: "\(self.label): \(name.state) \(name.key)",
            words: command.words(in: state).map(\.withoutNUL),
            input: Array("\(line.text)\n".utf8),
            environment: own + command.environment,
            command: command
        )
    }
}
