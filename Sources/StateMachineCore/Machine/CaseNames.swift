public import Synchronization

/// What is found out about types of states once, for good, since it takes longer than all else that setting one does:
/// what the cases of enums are called that name themselves by being encoded, and what may follow where no rule is
/// written.
///
/// A table that only grows. Guarded state: each of its places is atomic, and written once.
@usableFromInline
enum CaseNames {
    /// What is known about a type's case of that tag; about the type if there is none.
    @usableFromInline
    class Entry {
        @usableFromInline final let type: ObjectIdentifier
        @usableFromInline final let tag: UInt32?

        @usableFromInline
        init(_ type: ObjectIdentifier, _ tag: UInt32?) { (self.type, self.tag) = (type, tag) }
    }

    @usableFromInline
    final class Known<What: Sendable>: Entry {
        @usableFromInline let what: What

        @inlinable
        init(_ what: What, _ type: ObjectIdentifier, _ tag: UInt32?) {
            self.what = what
            super.init(type, tag)
        }
    }

    /// How many places there are, and are looked at; what finds none that is free is found out each time.
    ///
    /// 512 and 8: more than a program has cases of such enums, and few enough to look at in no time. Not tuned.
    @inlinable static var count: Int { 512 }
    @inlinable static var looks: Int { 8 }

    /// Never freed.
    @usableFromInline nonisolated(unsafe) static let places = {
        let places = UnsafeMutablePointer<Atomic<Unmanaged<Entry>?>>.allocate(capacity: count)
        for index in 0..<count { (places + index).initialize(to: Atomic(nil)) }
        return places
    }()

    /// What is known about a type, or about a case of it, which are asked for as one Swift type each.
    ///
    /// - Parameters:
    ///   - type: the type.
    ///   - tag: which case; nil: all of them.
    ///   - find: finds it out; called under no lock, since it may run a program's code.
    /// - Returns: what it is.
    @inlinable
    static func known<State, What: Sendable>(
        of type: State.Type,
        _ tag: UInt32? = nil,
        finding find: () -> What
    ) -> What {
        let identity = ObjectIdentifier(type)
        // Type metadata is aligned to eight bytes.
        let first = Int(bitPattern: identity) >> 3 &+ Int(truncatingIfNeeded: tag ?? .max)
        for index in first..<first + self.looks {
            let place = self.places + (index & (self.count - 1))
            guard let entry = place.pointee.load(ordering: .acquiring) else {
                let what = find()
                let known = Unmanaged<Entry>.passRetained(Known(what, identity, tag))
                let (isKept, _) = place.pointee.compareExchange(
                    expected: nil,
                    desired: known,
                    ordering: .acquiringAndReleasing
                )
                // Another thread was faster.
                if !isKept { known.release() }
                return what
            }
            let what: What? = entry._withUnsafeGuaranteedRef {
                guard $0.type == identity, $0.tag == tag else { return nil }
                return unsafeDowncast($0, to: Known<What>.self).what
            }
            if let what { return what }
        }
        return find()
    }

    /// The name of the state's case, whose text `find` finds; anything but a case of an enum is named each time.
    @inlinable
    static func name<State: MachineState>(of state: State, finding find: () -> String) -> State.Name
    {
        func found() -> State.Name {
            let text = find()
            guard let name = State.Name(rawValue: text) else {
                preconditionFailure(
                    "\(State.self) is in \(text), which \(State.Name.self) does not list"
                )
            }
            return name
        }
        guard let tag = self.tag(of: state) else { return found() }
        return self.known(of: State.self, tag, finding: found)
    }

    /// Which of its type's cases a value is; nil if the type is not an enum.
    ///
    /// Calls what the compiler's own mirrors call: the type's `getEnumTag`, which follows the size and flags in its
    /// value witness table (docs/ABI/TypeLayout.rst and lib/IRGen/ValueWitness.h of the compiler); the layout is
    /// the same on all platforms.
    @inlinable
    static func tag<Value>(of value: Value) -> UInt32? {
        guard isEnum(Value.self) else { return nil }
        let metadata = unsafeBitCast(Value.self, to: UnsafeRawPointer.self)
        let word = MemoryLayout<UInt>.size
        let witnesses = metadata.load(fromByteOffset: -word, as: UnsafeRawPointer.self)
        // Eight functions, the size and the stride come before the flags, and the number of extra inhabitants after.
        let flags = witnesses.load(fromByteOffset: 10 * word, as: UInt32.self)
        let hasEnumWitnesses: UInt32 = 0x0020_0000
        guard flags & hasEnumWitnesses != 0 else { return nil }
        typealias GetEnumTag = @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> UInt32
        let getEnumTag = witnesses.load(fromByteOffset: 10 * word + 8, as: GetEnumTag.self)
        return withUnsafePointer(to: value) { getEnumTag($0, metadata) }
    }
}

/// Whether the type is an enum; optionals do not count.
@inlinable
package func isEnum(_ type: Any.Type) -> Bool {
    // The first word of its metadata is the kind: 0x201 for an enum, 0x202 for an optional.
    unsafeBitCast(type, to: UnsafeRawPointer.self).load(as: UInt.self) == 0x201
}
