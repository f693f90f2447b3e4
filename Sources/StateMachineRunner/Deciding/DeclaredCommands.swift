import StateMachineDeclaration
import StateMachineProtocol

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
