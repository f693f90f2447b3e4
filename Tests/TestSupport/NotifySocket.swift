import Dispatch
import Glibc

/// The service manager's end of sd_notify(3), in a test's hands.
///
/// It takes every message at once, as the manager does: a daemon waits for one that does not.
///
/// `@unchecked Sendable`: nothing changes after `init`, and a dispatch source may be cancelled from
/// anywhere.
package final class NotifySocket: @unchecked Sendable {
    package let path: String
    private let messages: AsyncStream<String>
    private let source: any DispatchSourceRead

    package init(in directory: String) throws {
        self.path = "\(directory)/notify"
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard UnixSocket.withAddress(self.path, { bind(descriptor, $0, $1) }) == 0 else {
            throw TestFailure("cannot bind \(self.path): errno \(errno)")
        }
        let (messages, continuation) = AsyncStream.makeStream(of: String.self)
        self.messages = messages
        self.source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor,
            queue: DispatchQueue(label: "notify")
        )
        self.source.setEventHandler {
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &chunk, chunk.count, CInt(MSG_DONTWAIT))
            guard count >= 0 else { return }
            continuation.yield(String(decoding: chunk[..<count], as: UTF8.self))
        }
        self.source.setCancelHandler {
            continuation.finish()
            close(descriptor)
        }
        self.source.activate()
    }

    deinit { self.source.cancel() }

    /// Waits for a message that begins like this, passing over others.
    @discardableResult
    package func wait(for prefix: String) async throws -> String {
        for await message in self.messages where message.hasPrefix(prefix) { return message }
        throw TestFailure("no \(prefix) came")
    }
}
