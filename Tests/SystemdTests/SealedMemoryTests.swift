import Glibc
import Systemd
import Testing

/// Bytes that are handed from one process to the next.
struct SealedMemoryTests {
    @Test(arguments: [0, 1, 100_000]) func whatIsPutInComesOut(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let memory = try SealedMemory.make(bytes, name: "test")
        defer { close(memory) }
        #expect(try SealedMemory.read(memory) == bytes)
        // Reading does not use it up, whatever the file's position.
        #expect(try SealedMemory.read(memory) == bytes)
    }

    @Test func nobodyCanChangeIt() throws {
        let memory = try SealedMemory.make([1, 2, 3], name: "test")
        defer { close(memory) }
        #expect(pwrite(memory, [9], 1, 0) == -1)
        #expect(errno == EPERM)
        #expect(ftruncate(memory, 1) == -1)
        #expect(try SealedMemory.read(memory) == [1, 2, 3])
    }

    @Test func whatCouldBeChangedIsNotRead() throws {
        let file = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        #expect(throws: SealedMemoryError.self) { try SealedMemory.read(file) }
        #expect(throws: SealedMemoryError.self) { try SealedMemory.read(-1) }
    }
}
