import Glibc
import StateMachineClient
import StateMachineCore
import SystemPackage

/// A file that holds the cursor of the last line that was dealt with.
struct CursorFile: Sendable {
    /// The most bytes that are read: more than any cursor that a daemon gives out.
    ///
    /// 256: an epoch and a number have less than forty.
    private static let limit = 256

    let path: String

    /// The cursor; nil if there is no such file.
    func read() throws(Refusal) -> String? {
        let text: String
        do {
            let file = try FileDescriptor.open(
                FilePath(self.path),
                .readOnly,
                // Neither another file that a link names, nor a pipe that somebody has to write into.
                options: [.closeOnExec, .noFollow, .nonBlocking]
            )
            text = try file.closeAfter {
                var status = stat()
                guard fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                    throw self.unreadable("it is not a regular file")
                }
                var buffer = [UInt8](repeating: 0, count: Self.limit)
                let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0) }
                return String(decoding: buffer[..<count], as: UTF8.self)
            }
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch Errno.tooManySymbolicLinkLevels {
            throw self.unreadable("it is a link; name the file itself")
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw self.unreadable("\(error)")
        }
        let cursor = text.hasSuffix("\n") ? String(text.dropLast()) : text
        // Cursors are the daemon's own affair; but what has not even their shape was never one.
        guard cursor.wholeMatch(of: /[!-9;-~]+:[0-9]+/) != nil else {
            throw Refusal(
                "the cursor file \(self.path) holds \"\(text)\", which is not a cursor; delete it to start from the current state"
                    .printable,
                .usage
            )
        }
        return cursor
    }

    private func unreadable(_ reason: String) -> Refusal {
        Refusal("the cursor file \(self.path) cannot be read: \(reason)".printable)
    }

    /// Replaces the file as a whole: whoever reads it sees the old cursor or the new one.
    func write(_ cursor: String) throws(Refusal) {
        // Nobody can have put a file, or a link to one, where this one will be.
        let temporary = "\(self.path).\(String(UInt64.random(in: 0...UInt64.max), radix: 36)).tmp"
        do {
            let file = try FileDescriptor.open(
                FilePath(temporary),
                .writeOnly,
                options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead]
            )
            try file.closeAfter {
                try file.writeAll("\(cursor)\n".utf8)
                // Without this a power failure may leave an empty file under the new name.
                guard fdatasync(file.rawValue) == 0 else { throw Errno(rawValue: errno) }
            }
            guard rename(temporary, self.path) == 0 else { throw Errno(rawValue: errno) }
        } catch {
            unlink(temporary)
            throw Refusal("the cursor file \(self.path) cannot be written: \(error)".printable)
        }
    }
}

/// Writes the newest cursor into its file: soon, but not for every line.
///
/// Guarded state: `cursors`, behind its lock. The file is written by one task at a time: by ``run``,
/// and by whoever calls ``write()`` once that has ended.
final class CursorKeeper: Sendable {
    /// The shortest time between two writes.
    ///
    /// 1 s: when a watch is killed, this much is shown again.
    static let interval = Duration.seconds(1)

    private let file: CursorFile
    private let cursors = Lock<(newest: String?, written: String?)>((nil, nil))
    private let bell = Doorbell()

    init(_ file: CursorFile) { self.file = file }

    /// Notes that a line with that cursor was dealt with.
    func note(_ cursor: String?) {
        guard let cursor else { return }
        self.cursors.withLock { $0.newest = cursor }
        self.bell.ring()
    }

    /// Writes noted cursors until the task is cancelled.
    func run(clock: some Clock<Duration> = QuietClock()) async throws {
        for await _ in self.bell.rings {
            try self.write()
            try await clock.sleep(for: Self.interval)
        }
    }

    /// Writes the newest cursor unless it is written already.
    func write() throws(Refusal) {
        let newest = self.cursors.withLock { $0.newest == $0.written ? nil : $0.newest }
        guard let newest else { return }
        try self.file.write(newest)
        self.cursors.withLock { $0.written = newest }
    }
}
