/// A property of the unit that a command is run as, in the form in which systemd's D-Bus interface takes it.
///
/// See org.freedesktop.systemd1(5); ``UnitPropertyTable`` lists them.
package struct UnitProperty: Hashable, Sendable {
    /// A value, each with its D-Bus signature.
    package enum Value: Hashable, Sendable {
        /// `b`.
        case boolean(Bool)
        /// `t`.
        case unsigned(UInt64)
        /// `u`.
        case unsigned32(UInt32)
        /// `i`.
        case signed(Int32)
        /// `s`.
        case text(String)
        /// `as`.
        case texts([String])
        /// `(bas)`: whether only these are allowed, or all but these.
        case filter(isAllowing: Bool, [String])
    }

    /// As D-Bus spells it: `CPUQuotaPerSecUSec` and not `CPUQuota`.
    package let name: String
    package let value: Value

    package init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }
}
