import Dispatch
import Glibc

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
