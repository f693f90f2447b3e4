/// A state that a ``StateMachine`` can hold: what the machine needs to know about a value.
///
/// An enum gets all of it by conforming, as long as its values can be compared:
///
/// ```swift
/// enum Download: MachineState {
///     case idle
///     case running(percent: Int)
///     case failed(any Error)
///
///     static func == (left: Download, right: Download) -> Bool {
///         switch (left, right) {
///         case (.idle, .idle): true
///         case (.running(let left), .running(let right)): left == right
///         case (.failed(let left), .failed(let right)): "\(left)" == "\(right)"
///         default: false
///         }
///     }
/// }
/// ```
///
/// An enum whose states are shown to others or kept conforms to ``EnumState``, which requires what
/// that takes.
public protocol MachineState: Equatable, Sendable {
    /// The names of the kinds of states, without the values that they carry; read from the enum
    /// unless it has its own.
    associatedtype Name: RawRepresentable<String>, Hashable, Sendable = CaseName<Self>

    /// The name of this state, without its values.
    var name: Name { get }

    /// The states that may follow this one; by default every one.
    ///
    /// Pure: it gives the same answer every time. A state that may be followed by another value of
    /// itself lists its own name.
    var successors: Set<Name> { get }

    /// Whether `next` may follow this state: whether its name is among the ``successors``, unless the
    /// type has a quicker answer, or one that looks at the values.
    ///
    /// Pure, and called at every assignment, where building a set would be most of the cost.
    func mayBecome(_ next: Self) -> Bool
}

extension MachineState {
    /// Whether its name is among the ``successors``.
    public func mayBecome(_ next: Self) -> Bool { self.successors.contains(next.name) }

    /// The case, as named in the source; the type's name if it is not an enum.
    ///
    /// It is read from the type once for each case. A case that ``Name`` does not list is a
    /// programming error and ends the process when it is first entered.
    public var name: Name {
        guard let tag = EnumCases.tag(of: self) else { return Self.name(ofCase: nil) }
        return CaseCache.value(of: Self.self, tag: tag) { Self.name(ofCase: tag) }
    }

    static func name(ofCase tag: UInt32?) -> Name {
        let text = tag.flatMap { EnumCases.names(of: Self.self)?[Int($0)] } ?? "\(Self.self)"
        guard let name = Name(rawValue: text) else {
            preconditionFailure("\(Self.self) is in \(text), which \(Name.self) does not list")
        }
        return name
    }
}

extension MachineState where Name: CaseIterable {
    /// Every state may follow every other.
    public var successors: Set<Name> {
        CaseCache.value(of: Self.self, tag: CaseCache.wholeType) {
            // A type that is not an enum has one name, its own.
            Set(Name.allCases).union([self.name])
        }
    }
}
