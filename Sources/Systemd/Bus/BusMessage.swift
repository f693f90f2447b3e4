internal import CSystemd
internal import Glibc

/// A D-Bus message, to be filled or to be read from its front: sd_bus_message(3).
final class BusMessage {
    /// Owned by the message.
    let pointer: OpaquePointer

    /// Takes ownership of the pointer.
    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { sd_bus_message_unref(self.pointer) }

    // MARK: What it is

    /// The object that it is about; empty if there is none.
    var path: String { sd_bus_message_get_path(self.pointer).map { String(cString: $0) } ?? "" }

    var member: String { sd_bus_message_get_member(self.pointer).map { String(cString: $0) } ?? "" }

    // MARK: Filling

    func append(_ text: String) throws(BusError) {
        // The other side would take the part before it for the whole.
        guard !text.utf8.contains(0) else { throw .malformed("a text has a NUL in it") }
        let result = text.withCString {
            sd_bus_message_append_basic(self.pointer, Self.code("s"), $0)
        }
        try BusError.check(result, "a text cannot be sent")
    }

    func append(_ texts: [String]) throws(BusError) {
        try self.fill("a", of: "s") { () throws(BusError) in
            for text in texts { try self.append(text) }
        }
    }

    /// Fills a container: `a` of elements, `r` of members, `v` of one value.
    func fill(
        _ type: Unicode.Scalar,
        of contents: String,
        _ body: () throws(BusError) -> Void
    ) throws(BusError) {
        try BusError.check(
            sd_bus_message_open_container(self.pointer, Self.code(type), contents),
            "\(type) of \(contents) cannot be sent"
        )
        try body()
        try BusError.check(
            sd_bus_message_close_container(self.pointer),
            "\(type) of \(contents) cannot be sent"
        )
    }

    // MARK: Reading

    /// The next text: a string, or an object path with `o`.
    func text(_ type: Unicode.Scalar = "s") throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        let result = sd_bus_message_read_basic(self.pointer, Self.code(type), &text)
        try BusError.check(result, "a text was awaited")
        return text.map { String(cString: $0) } ?? ""
    }

    func number() throws(BusError) -> UInt64 { try self.basic("t", 0) }

    func number32() throws(BusError) -> UInt32 { try self.basic("u", 0) }

    func signed() throws(BusError) -> Int32 { try self.basic("i", 0) }

    /// The bytes of the next array.
    func bytes() throws(BusError) -> [UInt8] {
        var base: UnsafeRawPointer?
        var count = 0
        let result = sd_bus_message_read_array(self.pointer, Self.code("y"), &base, &count)
        try BusError.check(result, "bytes were awaited")
        return Array(UnsafeRawBufferPointer(start: base, count: count))
    }

    /// The elements of the next array.
    func elements<Element>(
        of contents: String,
        _ body: () throws(BusError) -> Element
    ) throws(BusError) -> [Element] {
        var elements: [Element] = []
        try self.enter("a", of: contents)
        while sd_bus_message_at_end(self.pointer, 0) == 0 { elements.append(try body()) }
        try self.leave()
        return elements
    }

    /// The members of the next structure.
    func members<Whole>(
        of contents: String,
        _ body: () throws(BusError) -> Whole
    ) throws(BusError) -> Whole {
        try self.enter("r", of: contents)
        let whole = try body()
        try self.leave()
        return whole
    }

    private func enter(_ type: Unicode.Scalar, of contents: String) throws(BusError) {
        let result = sd_bus_message_enter_container(self.pointer, Self.code(type), contents)
        try BusError.check(result, "\(type) of \(contents) was awaited")
    }

    private func leave() throws(BusError) {
        try BusError.check(
            sd_bus_message_exit_container(self.pointer),
            "there is more than was awaited"
        )
    }

    private func basic<Value: BitwiseCopyable>(
        _ type: Unicode.Scalar,
        _ zero: Value
    ) throws(BusError) -> Value {
        var value = zero
        let result = sd_bus_message_read_basic(self.pointer, Self.code(type), &value)
        try BusError.check(result, "a value of type \(type) was awaited")
        return value
    }

    private static func code(_ type: Unicode.Scalar) -> CChar {
        CChar(truncatingIfNeeded: type.value)
    }
}
