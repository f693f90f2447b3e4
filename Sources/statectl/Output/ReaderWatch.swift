import Dispatch
import Glibc

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
