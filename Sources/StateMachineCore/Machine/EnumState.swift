/// A state that is shown to others or kept: a case of an enum, each case with the data that applies
/// to it.
///
/// The `Codable` conformance is the one that the compiler writes; it gives a state its form on the
/// wire. Equality includes the associated values, ``MachineState/name`` leaves them out.
///
/// An enum may have a `Name` of its own, with the same cases, which the compiler then checks
/// wherever one is named. A daemon does not start if the cases differ.
public protocol EnumState: MachineState, Hashable, Codable, CustomStringConvertible
where Name: CaseIterable {
    /// The names of the cases; read from the enum unless it has its own.
    associatedtype Name = CaseName<Self>

    /// The state that a machine is in before anybody has set one. It is never announced.
    static var initial: Self { get }

    /// The names that states and fields had in earlier versions of the program, by their present
    /// names, as on the wire: a state by its name, a field as `state.field`; empty by default.
    ///
    /// A state left by an earlier version goes on under its new name.
    static var was: [String: [String]] { get }

    /// The state to start in if the state that was left no longer exists, or its values do not fit;
    /// nil, the default, refuses to start.
    static var lost: Self? { get }
}

extension EnumState {
    /// The state as one would write it, as in `failed(code: 3, retries: nil)`.
    public var description: String {
        guard let payload = Mirror(reflecting: self).children.first?.value else {
            return self.name.rawValue
        }
        let fields = Mirror(reflecting: payload)
        guard fields.displayStyle == .tuple else {
            return "\(self.name.rawValue)(\(written(payload)))"
        }
        let list = fields.children.map { label, value in
            // The compiler labels unnamed values `.0`, `.1` and so on.
            guard let label, !label.hasPrefix(".") else { return written(value) }
            return "\(label): \(written(value))"
        }
        return "\(self.name.rawValue)(\(list.joined(separator: ", ")))"
    }

    /// Nothing has been renamed.
    public static var was: [String: [String]] { [:] }

    /// Refuses to start if the state that was left is unknown.
    public static var lost: Self? { nil }
}

extension StateMachine where State: EnumState {
    /// A machine in the type's initial state.
    public convenience init(options: Options = Options()) {
        self.init(.initial, options: options)
    }
}

/// A value as one would write it: strings in quotes, and a missing value as nil.
private func written(_ value: Any) -> String {
    if let text = value as? String { return String(reflecting: text) }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return String(describing: value) }
    return mirror.children.first.map { written($0.value) } ?? "nil"
}
