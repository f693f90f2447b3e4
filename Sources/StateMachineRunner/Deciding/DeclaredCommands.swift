import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
package import StateMachineProtocol

/// What the file says is to be run, and whether the daemon has the same file.
struct DeclaredCommands: Sendable {
    private enum Agreement: Hashable {
        case unknown
        case agreed
        case differs
    }

    private let orders: CommandOrders
    private var declaration: Declaration
    private var agreement = Agreement.unknown

    init(_ declaration: Declaration, _ orders: CommandOrders) {
        self.declaration = declaration
        self.orders = orders
    }

    /// Whether it is known that the daemon has the same file.
    var isAgreed: Bool { self.agreement == .agreed }

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

    /// The state as the file declares it; nil if the file does not know it.
    func state(_ state: NamedState) -> DeclaredState? {
        do {
            return try self.declaration.carried(state.name, data: state.data)
        } catch {
            // What the file does not know has no commands.
            return nil
        }
    }

    /// The first of a change's hooks that is still to come; nil if there is none.
    func next(of hooks: HookWork) -> HookWork.Hook? {
        self.orders.next(of: hooks, declared: self.state)
    }

    /// What is run in a stay.
    func order(
        _ run: DeclaredCase.Run,
        of stay: EnteredStay,
        in state: DeclaredState,
        _ work: RunWork
    ) -> CommandOrder {
        self.orders.run(
            run.command,
            of: stay,
            in: state,
            attempt: work.progress.attempt,
            name: work.name
        )
    }

    /// Whether that is an end that the file does not provide for; `state` is nil for a hook.
    func isFailure(_ kind: CommandEnd.Kind, in state: NamedState?) -> Bool {
        switch kind {
        case .exit(0), .stopped: return false
        case .exit(let code):
            guard let state else { return true }
            return self.state(state)?.declared.run?.exits[code] == nil
        case .signal, .timeout: return true
        }
    }
}

/// What a machine's commands are given: their words, standard input and environment.
package struct CommandOrders: Sendable {
    private let label: MachineLabel
    private let directory: RuntimeDirectory

    /// The orders for the machine whose daemon has its doors in that directory.
    package init(_ label: MachineLabel, directory: RuntimeDirectory) {
        self.label = label
        self.directory = directory
    }

    /// The command of a stay, with its state's present values; `name` is its name so far, if any.
    func run(
        _ command: DeclaredCommand,
        of stay: EnteredStay,
        in state: DeclaredState,
        attempt: Int,
        name: CommandName?
    ) -> CommandOrder {
        let present = NamedState(state.declared.name, state.data.members ?? [])
        let name = name ?? CommandName(self.label, state: present.name, .run, seq: stay.number)
        var variables = LineEnvironment.watch(stay.line, resync: nil)
        variables.merge(LineEnvironment.state(present)) { $1 }
        return self.order(name, command, in: state, stay.line, variables, stay.number, attempt)
    }

    /// The first of a change's hooks that is still to come, nil if there is none; `declared` finds
    /// a state in the file.
    func next(
        of hooks: HookWork,
        declared: (NamedState) -> DeclaredState?
    ) -> HookWork.Hook? {
        if let left = hooks.left, let state = declared(left) {
            for (index, command) in state.declared.leave.enumerated() {
                let key = CommandName.Key.leave(index + 1)
                guard hooks.isAhead(key) else { continue }
                return self.hook(key, command, of: hooks, in: state, called: left.name)
            }
        }
        if let state = declared(hooks.change.state) {
            for (index, command) in state.declared.enter.enumerated() {
                let key = CommandName.Key.enter(index + 1)
                guard hooks.isAhead(key) else { continue }
                return self.hook(key, command, of: hooks, in: state, called: state.declared.name)
            }
        }
        return nil
    }

    private func hook(
        _ key: CommandName.Key,
        _ command: DeclaredCommand,
        of hooks: HookWork,
        in state: DeclaredState,
        called stateName: String
    ) -> HookWork.Hook {
        let name = CommandName(self.label, state: stateName, key, seq: hooks.change.stay)
        var variables = LineEnvironment.watch(hooks.change.line, resync: nil)
        if hooks.change.from == nil, let left = hooks.left {
            variables.merge(LineEnvironment.from(left)) { $1 }
        }
        let isLeaving =
            switch key {
            case .leave: true
            case .enter, .run: false
            }
        let stay = (isLeaving ? hooks.leftStay : nil) ?? hooks.change.stay
        let line = hooks.change.line
        let order = self.order(name, command, in: state, line, variables, stay, hooks.attempt)
        return HookWork.Hook(key: key, command: command, order: order)
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
            name,
            title: "\(self.label): \(name.state) \(name.key)",
            words: command.words(in: state).map(\.withoutNUL),
            input: Array("\(line.text)\n".utf8),
            environment: own + command.environment,
            command: command
        )
    }
}
