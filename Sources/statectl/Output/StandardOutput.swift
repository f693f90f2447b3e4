import Glibc

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
    static func write(_ line: String) throws(OutputError) {
        try self.pass(line + "\n")
    }

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
