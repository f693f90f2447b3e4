/// A state that is shown to others or kept: a case of an enum, each case with the data that means something in that
/// case.
///
/// Conformance to `Codable` is the one that the compiler writes; it is how a state gets its form on
/// the wire. Equality includes the associated values, ``MachineState/name`` leaves them out.
///
/// An enum may have a `Name` of its own, with the same cases, which the compiler then checks wherever one is
/// named. A daemon does not start with one that has others.
public protocol EnumState: MachineState, Hashable, Codable, CustomStringConvertible
where Name: CaseIterable {
    /// What the cases are called; read off the enum unless it has its own.
    associatedtype Name = CaseName<Self>

    /// The state that a machine is in before anybody has set one. It is never announced.
    static var initial: Self { get }

    /// What states and fields were called in earlier versions of the program, by what they are called now, as on the
    /// wire: a state by its name, a field as `state.field`; nothing unless said.
    ///
    /// A state that an earlier version has left goes on under its new name.
    static var was: [String: [String]] { get }

    /// Where to go at a start at which the state that was left is none any more, or its values do not fit; nil, unless
    /// said, to refuse to start.
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
            // The compiler calls what has no name `.0`, `.1` and so on.
            guard let label, !label.hasPrefix(".") else { return written(value) }
            return "\(label): \(written(value))"
        }
        return "\(self.name.rawValue)(\(list.joined(separator: ", ")))"
    }

    /// Everything is called what it always was.
    public static var was: [String: [String]] { [:] }

    /// A start is refused that does not know the state which was left.
    public static var lost: Self? { nil }
}

extension StateMachine where State: EnumState {
    /// A machine in the type's initial state.
    @inlinable
    public convenience init(options: Options = Options()) {
        self.init(.initial, options: options)
    }
}

/// A value as one would write it: a text in quotes, and what there is not as nil.
private func written(_ value: Any) -> String {
    if let text = value as? String { return String(reflecting: text) }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return String(describing: value) }
    return mirror.children.first.map { written($0.value) } ?? "nil"
}
