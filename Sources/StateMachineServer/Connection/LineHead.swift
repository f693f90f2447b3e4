import StateMachineProtocol

/// The beginning of one id's change lines, in memory that a socket write can point at.
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
