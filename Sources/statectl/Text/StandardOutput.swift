import Dispatch
import Glibc
import StateMachineCore
import StateMachineDeclaration

/// Why standard output takes nothing more.
enum OutputError: Error, Equatable {
    /// Nobody reads it any more.
    case readerGone
    /// It cannot be written to, as when the disk is full; the number is errno's.
    case failed(CInt)
}

/// Standard output, written line by line and never buffered.
enum StandardOutput {
    /// Writes a line, with all of it handed to the system on return.
    static func write(_ line: String) throws(OutputError) { try self.pass(line + "\n") }

    /// Writes a text as it is, with all of it handed to the system on return.
    static func pass(_ text: String) throws(OutputError) {
        let code = Array(text.utf8).withUnsafeBytes { $0.write(to: STDOUT_FILENO) }
        guard code == 0 else { throw code == EPIPE ? .readerGone : .failed(code) }
    }

    /// Writes a line for whoever still reads; it is no error if nobody does.
    static func offer(_ line: String) throws(OutputError) {
        do {
            try self.write(line)
        } catch {
            guard error == .readerGone else { throw error }
        }
    }

    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Columns of the terminal; nil if it is not one, or does not say.
    static var columns: Int? { columnsOfTerminal(STDOUT_FILENO) }
}

/// Columns of the terminal behind a descriptor; nil if it is not one, or does not say.
private func columnsOfTerminal(_ descriptor: CInt) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
}

/// Standard error, for everything that is not what was asked for.
enum StandardError {
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Columns of the terminal; nil if it is not one, or does not say.
    static var columns: Int? { columnsOfTerminal(STDERR_FILENO) }

    /// Writes a sentence of this program.
    static func say(_ sentence: String) { self.write("statectl: \(sentence)") }

    /// Writes a line, or several; on a terminal folded between words.
    static func write(_ line: String) {
        self.pass(Array("\(line.folded(to: self.columns))\n".utf8))
    }

    /// Passes on what another process said.
    static func pass(_ bytes: [UInt8]) {
        // There is no other place to complain to.
        _ = bytes.withUnsafeBytes { $0.write(to: STDERR_FILENO) }
    }
}

extension UnsafeRawBufferPointer {
    /// Writes everything, however long that takes; returns 0, or errno if it fails.
    fileprivate func write(to descriptor: CInt) -> CInt {
        var rest = self[...]
        while !rest.isEmpty {
            let bytes = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Whoever shares the descriptor with us has made it non-blocking.
                var wish = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wish, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

/// How parts of a text are highlighted.
enum Style {
    case plain
    case coloured

    /// What a part is, which decides how it looks.
    enum Role {
        case state
        case label
        case aside
        case notice
        /// What the eye looks for first.
        case lit
        /// A state that its machine's file marks.
        case marked(StateMark)
    }

    func text(_ text: String, as role: Role) -> String {
        switch self {
        case .plain: text
        case .coloured: "\u{1B}[\(Self.code(role))m\(text)\u{1B}[0m"
        }
    }

    /// SGR codes of ECMA-48 that are readable in every palette.
    private static func code(_ role: Role) -> String {
        switch role {
        case .state: "1;36"
        case .label: "36"
        case .aside: "2"
        case .notice: "33"
        case .lit: "1;7"
        case .marked(.good): "1;32"
        case .marked(.warn): "1;33"
        case .marked(.bad): "1;31"
        }
    }
}

/// Notices that the reader of standard output is gone although nothing is being written.
///
/// A stream may be quiet for days; without this the process would outlive its reader for as long.
enum ReaderWatch {
    /// Returns when nobody reads standard output any more, or when the task is cancelled.
    ///
    /// A file or a terminal that stays has a reader for ever.
    static func readerIsGone() async {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return await Self.cancellation() }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                DispatchQueue(label: "statectl.reader").async {
                    Self.waitForHangup(orInput: readEnd)
                    continuation.resume()
                }
            }
        } onCancel: {
            close(writeEnd)
        }
        close(readEnd)
    }

    /// Without a second descriptor nothing could end the wait, so it does not begin.
    private static func cancellation() async {
        let (stream, _) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
    }

    private static func waitForHangup(orInput descriptor: CInt) {
        var wishes = [
            pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&wishes, nfds_t(wishes.count), -1) < 0 {
            guard errno == EINTR || errno == EAGAIN else { return }
        }
    }
}

/// A line on a terminal that shows the progress of something that takes longer than a second.
///
/// It is written to standard error, which is for people there, and removed when the work is done.
/// Belongs to one task.
final class Progress {
    /// How long to wait before the line is first shown, and then between two updates.
    private static let pause = (first: Duration.seconds(1), next: Duration.milliseconds(100))
    /// Changes between two looks at the clock, which costs more than many changes.
    private static let look: UInt64 = 256

    private let what: String
    private let isShown: Bool
    private let now: () -> ContinuousClock.Instant
    private let write: ([UInt8]) -> Void
    private var next: ContinuousClock.Instant
    private var looked: UInt64 = 0
    private var isWritten = false

    /// - Parameters:
    ///   - what: what is being done: `reading the past`.
    ///   - isShown: whether anybody sees it.
    ///   - now: the clock.
    ///   - write: where the line goes.
    init(
        _ what: String,
        isShown: Bool = StandardError.isTerminal,
        now: @escaping () -> ContinuousClock.Instant = { .now },
        write: @escaping ([UInt8]) -> Void = StandardError.pass
    ) {
        self.what = what
        self.isShown = isShown
        self.now = now
        self.write = write
        self.next = now().advanced(by: Self.pause.first)
    }

    /// Shows how many changes are done, and out of how many if that is known.
    func show(_ count: UInt64, of whole: UInt64? = nil) {
        guard self.isShown, count >= self.looked + Self.look else { return }
        self.looked = count
        let now = self.now()
        guard now >= self.next else { return }
        self.next = now.advanced(by: Self.pause.next)
        var text = "\(self.what): \(count) changes"
        if let whole, whole > 0 { text += ", \(min(100, count * 100 / whole)) %" }
        let room = StandardError.columns.map { $0 - 1 } ?? 79
        self.write(Array("\r\u{1B}[K\(StyledText(text).cut(to: room).text(.plain))".utf8))
        self.isWritten = true
    }

    /// Removes the line.
    func end() {
        guard self.isWritten else { return }
        self.isWritten = false
        self.write(Array("\r\u{1B}[K".utf8))
    }
}
