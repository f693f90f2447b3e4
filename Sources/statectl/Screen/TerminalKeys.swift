import Dispatch
import Glibc

/// The keys of a terminal, as they are pressed.
enum TerminalKeys {
    /// The bytes as they come; ends when the terminal does.
    static func stream() -> AsyncStream<UInt8> {
        AsyncStream { continuation in
            let source = DispatchSource.makeReadSource(
                fileDescriptor: STDIN_FILENO,
                queue: DispatchQueue(label: "statectl.keys")
            )
            source.setEventHandler {
                var buffer = [UInt8](repeating: 0, count: 64)
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                guard count > 0 else { return continuation.finish() }
                for byte in buffer.prefix(count) { continuation.yield(byte) }
            }
            let held = Held(source)
            continuation.onTermination = { _ in held.cancel() }
            source.resume()
        }
    }

    /// A source that is only ever cancelled, which may be done from any thread; that makes `@unchecked Sendable` true.
    private final class Held: @unchecked Sendable {
        private let source: any DispatchSourceRead

        init(_ source: any DispatchSourceRead) { self.source = source }

        func cancel() { self.source.cancel() }
    }
}
