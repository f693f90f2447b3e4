/// What a case of an enum is called: the ``MachineState/Name`` of states that have none of their own.
///
/// Written as a string: `[.serving]` of an enum's own `Name` is `["serving"]` here. That a string names no case is told when
/// a daemon starts.
public struct CaseName<State>: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, as in the source and on the wire.
    public let rawValue: String

    /// The name of a case; whether it is one is not looked at.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name of a case, written out.
    public init(stringLiteral name: String) { self.rawValue = name }
}

extension CaseName: CustomStringConvertible {
    /// The name.
    public var description: String { self.rawValue }
}

extension CaseName: CaseIterable {
    /// All cases of the enum, those with values first; read off the type, at each call.
    ///
    /// None of a type that is no enum, and in a program that was built with `-disable-reflection-metadata`; a
    /// daemon does not start with it then, and says so.
    public static var allCases: [CaseName<State>] {
        (EnumCases.names(of: State.self) ?? []).map { CaseName(rawValue: $0) }
    }
}
