/// A setting of a transient unit, under its D-Bus name: org.freedesktop.systemd1(5).
package struct UnitSetting: Hashable, Sendable {
    package let name: String
    package let value: BusValue

    package init(_ name: String, _ value: BusValue) {
        self.name = name
        self.value = value
    }
}
