import StateMachineProtocol

/// What the change lines of one id begin with, where a socket can be pointed at it.
final class LineHead {
    let bytes: UnsafeRawBufferPointer

    init(_ id: RequestID?) {
        let head = id.map { ChangeLine.head(id: $0) } ?? ChangeLine.head
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: head.count, alignment: 1)
        memory.copyBytes(from: head)
        self.bytes = UnsafeRawBufferPointer(memory)
    }

    deinit { self.bytes.deallocate() }
}
