/// What one request may hold.
///
/// Everything here is part of the protocol, version 1.
package enum RequestLimits {
    /// Bytes in a request line, its newline not counted.
    package static let lineBytes = 65_536

    /// Bytes in an encoded state; one that is longer is refused when it is set.
    package static let stateBytes = 65_536

    /// Bytes of UTF-8 in a `cause` or a `why`.
    package static let causeBytes = 256

    /// Bytes of UTF-8 in an `id` that is a string.
    package static let idBytes = 128

    /// What integers stay below in size: from here on a double, which is what many JSON readers
    /// keep numbers in, skips some.
    package static let integerBound: UInt64 = 1 << 53
}
