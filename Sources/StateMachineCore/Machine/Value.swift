public import Synchronization

/// A state as the engine holds it: immutable, and shared by everything that refers to it.
///
/// `@unchecked Sendable`: `shown` is atomic, and nothing else changes.
///
/// All that the engine asks of a state goes through this class, so that the engine is compiled once. All values of a
/// machine are of one class.
@usableFromInline
package class Value: Equatable, @unchecked Sendable {
    /// What a server and a history show and keep of it; nil until one of them has asked.
    @usableFromInline let shown = Atomic<Unmanaged<AnyObject>?>(nil)

    @usableFromInline package init() {}

    deinit { self.shown.load(ordering: .relaxed)?.release() }

    /// The form in which it is shown and kept, which is made once, by whoever asks first.
    ///
    /// - Parameter make: makes it; of all values of a machine the same kind, and never under a lock.
    /// - Returns: the form, not counted: the value keeps it.
    @inlinable package final func form<Form: AnyObject & Sendable>(
        _ make: () -> Form
    ) -> Unmanaged<Form> {
        let form = self.shown.load(ordering: .acquiring) ?? self.keep(make())
        return .fromOpaque(form.toOpaque())
    }

    /// Keeps a form that was just made, and returns the one that all go by.
    @usableFromInline
    final func keep(_ made: AnyObject) -> Unmanaged<AnyObject> {
        let kept = Unmanaged<AnyObject>.passRetained(made)
        let (isFirst, other) = self.shown.compareExchange(
            expected: nil,
            desired: kept,
            ordering: .acquiringAndReleasing
        )
        guard !isFirst, let other else { return kept }
        kept.release()
        // Another thread was faster.
        return other
    }

    /// The state's name, as on the wire.
    package var name: String {
        preconditionFailure("this value's schema gives its states no names")
    }

    /// The names of the states that may follow; ``any`` among them is for every one.
    package var successors: Set<String> { [] }

    /// What stands for every name.
    @inlinable package static var any: String { "*" }

    /// Those of the names whose states may follow.
    package func successors(among names: [String]) -> [String] {
        let successors = self.successors
        return successors.contains(Value.any) ? names : names.filter(successors.contains)
    }

    /// Whether the states are equal.
    package func equals(_ other: Value) -> Bool { self === other }

    @usableFromInline
    package static func == (left: Value, right: Value) -> Bool { left.equals(right) }

    /// Whether `next` may follow.
    package func mayBecome(_ next: Value) -> Bool { true }

    /// The state, for people to read.
    package var text: String { self.name }
}

/// The state of a program's own type.
///
/// A subclass, and not a field of the type `any Sendable`, which would be an allocation of its own.
@usableFromInline
package final class TypedValue<State: MachineState>: Value, @unchecked Sendable {
    @usableFromInline package let state: State

    @inlinable package init(_ state: State) {
        self.state = state
        super.init()
    }

    /// The state of a value of a machine of that type.
    @inlinable package static func state(of value: Value) -> State {
        unsafeDowncast(value, to: TypedValue<State>.self).state
    }

    package override var name: String { self.state.name.rawValue }

    package override var successors: Set<String> { Set(self.state.successors.map(\.rawValue)) }

    package override func equals(_ other: Value) -> Bool {
        self === other || self.state == unsafeDowncast(other, to: Self.self).state
    }

    package override func mayBecome(_ next: Value) -> Bool {
        self.state.mayBecome(unsafeDowncast(next, to: Self.self).state)
    }

    package override var text: String { "\(self.state)" }
}
