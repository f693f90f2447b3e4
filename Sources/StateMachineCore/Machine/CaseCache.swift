internal import Synchronization

/// What has been found out about the cases of enums, once for each case of each type, for good.
///
/// A table that only grows: a lookup takes no lock and counts no reference.
enum CaseCache {
    /// The contents of a place in the table: about one case, or with ``wholeType`` about all.
    class Entry: @unchecked Sendable {
        final let type: ObjectIdentifier
        final let tag: UInt32

        init(_ type: ObjectIdentifier, _ tag: UInt32) {
            self.type = type
            self.tag = tag
        }
    }

    /// `@unchecked Sendable`: never changed.
    final class Found<Value: Sendable>: Entry, @unchecked Sendable {
        let value: Value

        init(_ value: Value, _ type: ObjectIdentifier, _ tag: UInt32) {
            self.value = value
            super.init(type, tag)
        }
    }

    struct Place: ~Copyable {
        let entry = Atomic<Unmanaged<Entry>?>(nil)

        init() {}
    }

    /// The tag for what is true of all cases; no enum has that many.
    static var wholeType: UInt32 { .max }

    /// Room for the enums of any program.
    ///
    /// What finds no free place among the eight that are looked at is computed each time. Not
    /// tuned.
    static var count: Int { 512 }
    static var lookedAt: Int { 8 }

    /// Never freed; readers and writers only go through its atomics.
    nonisolated(unsafe) static let places: UnsafeMutablePointer<Place> = {
        let places = UnsafeMutablePointer<Place>.allocate(capacity: count)
        for index in 0..<count { (places + index).initialize(to: Place()) }
        return places
    }()

    /// The value for a case of `type`, found now if it was not before.
    ///
    /// A type and tag are always looked up with the same `Value`.
    static func value<Value: Sendable>(
        of type: any Any.Type,
        tag: UInt32,
        finding find: () -> Value
    ) -> Value {
        let identity = ObjectIdentifier(type)
        // Type metadata is aligned to eight bytes.
        let first = Int(bitPattern: identity) >> 3 &+ Int(truncatingIfNeeded: tag)
        for index in first..<first + self.lookedAt {
            let place = self.places + (index & (self.count - 1))
            guard let entry = place.pointee.entry.load(ordering: .acquiring) else {
                return self.note(find(), identity, tag, at: place)
            }
            let found: Value? = entry._withUnsafeGuaranteedRef { entry in
                guard entry.type == identity, entry.tag == tag else { return nil }
                return unsafeDowncast(entry, to: Found<Value>.self).value
            }
            if let found { return found }
        }
        return find()
    }

    /// Stores a value; a thread that is too late finds the other's at its next lookup.
    static func note<Value: Sendable>(
        _ value: Value,
        _ type: ObjectIdentifier,
        _ tag: UInt32,
        at place: UnsafeMutablePointer<Place>
    ) -> Value {
        let entry = Unmanaged<Entry>.passRetained(Found(value, type, tag))
        let isNoted = place.pointee.entry.compareExchange(
            expected: nil,
            desired: entry,
            ordering: .acquiringAndReleasing
        ).exchanged
        if !isNoted { entry.release() }
        return value
    }
}
