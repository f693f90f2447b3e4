/// What the cases of enums are called that name themselves by being encoded: found out once for each case of each type,
/// since encoding a state takes longer than all else that setting it does.
///
/// Guarded state: `known`, behind its lock. A program has few types of states, so it is never emptied.
enum CaseNames {
    private struct Case: Hashable {
        let type: ObjectIdentifier
        let tag: UInt32
    }

    private static let known = Lock<[Case: String]>([:])

    /// What the state's case is called.
    ///
    /// - Parameters:
    ///   - state: a case of an enum; anything else is named each time.
    ///   - find: names it; called under no lock, since it may run a program's code.
    /// - Returns: its name.
    static func name<State>(of state: State, finding find: () -> String) -> String {
        guard let tag = self.tag(of: state) else { return find() }
        let identity = Case(type: ObjectIdentifier(State.self), tag: tag)
        if let name = self.known.withLock({ $0[identity] }) { return name }
        let name = find()
        self.known.withLock { $0[identity] = name }
        return name
    }

    /// Which of its type's cases a value is; nil if the type is not an enum.
    ///
    /// Calls what the compiler's own mirrors call: the type's `getEnumTag`, which follows the size and flags in its
    /// value witness table (docs/ABI/TypeLayout.rst and lib/IRGen/ValueWitness.h of the compiler); the layout is
    /// the same on all platforms.
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
package func isEnum(_ type: Any.Type) -> Bool {
    // The first word of its metadata is the kind: 0x201 for an enum, 0x202 for an optional.
    unsafeBitCast(type, to: UnsafeRawPointer.self).load(as: UInt.self) == 0x201
}
