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
    /// The names of the kinds of states, without the values that they carry; strings unless the enum has its
    /// own.
    associatedtype Name: RawRepresentable<String>, Hashable, Sendable = CaseName<Self>

    /// The name of this state, without its values.
    var name: Name { get }

    /// The states that may follow this one; by default every one, which ``CaseName/any`` says where names are strings.
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
    @inlinable public func mayBecome(_ next: Self) -> Bool { self.successors.contains(next.name) }

    /// The case, as named in the source; the type's name if it is not an enum.
    ///
    /// It saves writing the `switch`, which takes less time: each case is looked up once, as mirrors do. A case that
    /// ``Name`` does not list is a programming error and ends the process when it is named.
    @inlinable public var name: Name {
        CaseNames.name(of: self) { nameOfCase(self).map { String(cString: $0) } ?? "\(Self.self)" }
    }
}

/// What mirrors call the case of a value; nil if its type is not an enum.
@usableFromInline
@_silgen_name("swift_EnumCaseName")
package func nameOfCase<State>(_ state: State) -> UnsafePointer<CChar>?

extension MachineState where Name: CaseIterable {
    /// Every state may follow every other.
    @inlinable public var successors: Set<Name> {
        CaseNames.known(of: Self.self) { Set(Name.allCases) }
    }
}

extension MachineState where Name == CaseName<Self> {
    /// Every state may follow every other.
    @inlinable public var successors: Set<Name> { CaseNames.known(of: Self.self) { [.any] } }

    /// Whether its name is among the ``successors``, or every name is.
    @inlinable public func mayBecome(_ next: Self) -> Bool {
        let successors = self.successors
        // One by one: hashing takes longer.
        return successors.contains { $0 == .any } || successors.contains(next.name)
    }
}
