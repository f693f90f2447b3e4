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

    func append(_ flag: Bool) throws(BusError) {
        try self.appendBasic("b", CInt(flag ? 1 : 0))
    }

    func append(_ bytes: [UInt8]) throws(BusError) {
        let result = bytes.withUnsafeBytes {
            sd_bus_message_append_array(self.pointer, Self.code("y"), $0.baseAddress, $0.count)
        }
        try BusError.check(result, "\(bytes.count) bytes cannot be sent")
    }

    func append(_ texts: [String]) throws(BusError) {
        try self.fill("a", of: "s") { () throws(BusError) in
            for text in texts { try self.append(text) }
        }
    }

    func append(_ value: BusValue) throws(BusError) {
        switch value {
        case .boolean(let flag): try self.append(flag)
        case .signed(let number): try self.appendBasic("i", number)
        case .unsigned(let number): try self.appendBasic("t", number)
        case .unsigned32(let number): try self.appendBasic("u", number)
        case .text(let text): try self.append(text)
        case .texts(let texts): try self.append(texts)
        case .bytes(let bytes): try self.append(bytes)
        case .byteTexts(let texts):
            try self.fill("a", of: "ay") { () throws(BusError) in
                for text in texts { try self.append(text) }
            }
        case .commands(let commands):
            try self.fill("a", of: "(sasb)") { () throws(BusError) in
                for command in commands { try self.append(command) }
            }
        case .files(let files):
            try self.fill("a", of: "(sb)") { () throws(BusError) in
                for file in files { try self.append(file) }
            }
        case .filter(let isAllowing, let texts):
            try self.fill("r", of: "bas") { () throws(BusError) in
                try self.append(isAllowing)
                try self.append(texts)
            }
        }
    }

    /// A value preceded by its type.
    func appendVariant(_ value: BusValue) throws(BusError) {
        try self.fill("v", of: value.signature) { () throws(BusError) in try self.append(value) }
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

    private func append(_ command: BusValue.Command) throws(BusError) {
        try self.fill("r", of: "sasb") { () throws(BusError) in
            try self.append(command.program)
            try self.append(command.words)
            try self.append(command.mayFail)
        }
    }

    private func append(_ file: BusValue.File) throws(BusError) {
        try self.fill("r", of: "sb") { () throws(BusError) in
            try self.append(file.path)
            try self.append(file.mayBeMissing)
        }
    }

    private func appendBasic<Value: BitwiseCopyable>(
        _ type: Unicode.Scalar,
        _ value: Value
    ) throws(BusError) {
        let result = withUnsafePointer(to: value) {
            sd_bus_message_append_basic(self.pointer, Self.code(type), $0)
        }
        try BusError.check(result, "a value of type \(type) cannot be sent")
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
