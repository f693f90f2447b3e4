/// The name of an enum's case: the ``MachineState/Name`` of states that have none of their own.
///
/// Written as a string: an enum's own `Name` has `[.serving]` where this has `["serving"]`. A
/// string that names no case is reported when a daemon starts.
public struct CaseName<State>: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, as in the source and on the wire.
    public let rawValue: String

    /// The name of a case; not checked.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name of a case, written out.
    public init(stringLiteral name: String) { self.rawValue = name }
}

extension CaseName: CustomStringConvertible {
    /// The name.
    public var description: String { self.rawValue }
}

extension CaseName: CaseIterable {
    /// All cases of the enum, those with values first; read from the type at each call.
    ///
    /// Empty for a type that is not an enum, and in a program built with
    /// `-disable-reflection-metadata`; then a daemon does not start, and says so.
    public static var allCases: [CaseName<State>] {
        (EnumCases.names(of: State.self) ?? []).map { CaseName(rawValue: $0) }
    }
}
