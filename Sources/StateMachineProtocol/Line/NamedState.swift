public import StateMachineCore

/// A state as it stands in a line: the case's name, and the associated values by label.
public struct NamedState: Hashable, Sendable {
    /// The case's name.
    public let name: String
    /// The associated values; one without a label is `value`, further ones `value2`, `value3` ….
    public let data: [JSONMember]

    /// The state of that name with those values.
    public init(_ name: String, _ data: [JSONMember] = []) {
        self.name = name
        self.data = data
    }

    init?(_ value: JSONValue) {
        guard let name = value["state"]?.string else { return nil }
        self.init(name, value["data"]?.members ?? [])
    }
}

/// Turns lines' states into values of the enum that the daemon holds.
///
/// Costly to make, since the enum is examined; make one and keep it.
public struct StateReader<State: MachineState>: Sendable {
    private let coding = StateCoding<State>()

    /// A reader for that enum.
    public init() {}

    /// The state as a value of the enum; nil if it is none, as when the daemon holds another.
    public func state(_ named: NamedState) -> State? {
        do {
            return try self.coding.state(named.name, data: .object(named.data))
        } catch {
            // The caller asked whether it is one; the reason why not is of no use to it.
            return nil
        }
    }

    /// The state as it stands in a line or a request.
    public func named(_ state: State) -> NamedState {
        NamedState(state.name.rawValue, self.coding.data(of: state).members ?? [])
    }
}
