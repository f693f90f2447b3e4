import Glibc

/// The whole of a terminal, while something that changes is shown on it.
///
/// A frame is written in one go, over the last one, and terminals that can show it at once: nothing
/// flickers.
final class TerminalScreen {
    struct Size: Equatable {
        var columns: Int
        var rows: Int
    }

    private var original = termios()
    private var isOpen = false
    private var last: [String] = []
    private var lastSize: Size?

    /// Nil if standard input and output are not a terminal that can be drawn on.
    init?() {
        guard StandardOutput.isTerminal, isatty(STDIN_FILENO) == 1,
            getenv("TERM").map({ String(cString: $0) }) != "dumb",
            tcgetattr(STDIN_FILENO, &self.original) == 0
        else { return nil }
    }

    /// The terminal's size; 80 by 24 if it does not say.
    var size: Size {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
        else { return Size(columns: 80, rows: 24) }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Takes over the terminal: keys come singly, without echo; `close()` restores what was there.
    func open() throws {
        guard !self.isOpen else { return }
        var mode = self.original
        mode.c_lflag &= ~tcflag_t(ECHO | ICANON)
        tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        self.isOpen = true
        self.lastSize = nil
        // The other screen, without the cursor, and without line wrap.
        try StandardOutput.pass("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
    }

    /// Gives the terminal back.
    func close() {
        guard self.isOpen else { return }
        self.isOpen = false
        // There is nobody to tell if it has gone.
        try? StandardOutput.pass("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        tcsetattr(STDIN_FILENO, TCSANOW, &self.original)
    }

    /// Shows lines, which must fit the terminal's width; unchanged ones are not written.
    func show(_ lines: [String]) throws {
        let size = self.size
        let isWhole = size != self.lastSize
        let lines = (0..<size.rows).map { $0 < lines.count ? lines[$0] : "" }
        var text = isWhole ? "\u{1B}[2J" : ""
        for (row, line) in lines.enumerated() where isWhole || self.last[row] != line {
            // Cleared first: after a line as wide as the screen, clearing would remove the last
            // letter.
            text += "\u{1B}[\(row + 1);1H\u{1B}[K\(line)"
        }
        self.lastSize = size
        self.last = lines
        guard !text.isEmpty else { return }
        try StandardOutput.pass("\u{1B}[?2026h\(text)\u{1B}[?2026l")
    }
}
