import Testing

@testable import statectl

/// How progress of long work is shown to people at a terminal.
struct ProgressTests {
    /// A clock that is set by hand, and the text written so far.
    private final class Terminal {
        var now = ContinuousClock.now
        var written = ""

        func progress(isShown: Bool = true) -> Progress {
            Progress(
                "looking through",
                isShown: isShown,
                now: { self.now },
                write: { self.written += String(decoding: $0, as: UTF8.self) }
            )
        }

        func after(_ milliseconds: Int, _ body: () -> Void) -> String {
            self.now = self.now.advanced(by: .milliseconds(milliseconds))
            self.written = ""
            body()
            return self.written
        }
    }

    @Test func nothingIsSaidOfWhatTakesLessThanASecond() {
        let terminal = Terminal()
        let progress = terminal.progress()
        #expect(terminal.after(900) { progress.show(1000, of: 4000) } == "")
        #expect(terminal.after(90) { progress.end() } == "")
    }

    @Test func afterThatItIsSaidTenTimesASecondOnOneLineThatGoes() {
        let terminal = Terminal()
        let progress = terminal.progress()
        let line = "\r\u{1B}[Klooking through: "
        #expect(
            terminal.after(1000) { progress.show(1000, of: 4000) } == line + "1000 changes, 25 %"
        )
        #expect(terminal.after(99) { progress.show(2000, of: 4000) } == "")
        #expect(terminal.after(1) { progress.show(3000, of: 4000) } == line + "3000 changes, 75 %")
        // There may be more by now than were counted at first.
        #expect(
            terminal.after(100) { progress.show(5000, of: 4000) } == line + "5000 changes, 100 %"
        )
        #expect(terminal.after(100) { progress.show(6000) } == line + "6000 changes")
        #expect(terminal.after(0) { progress.end() } == "\r\u{1B}[K")
        #expect(terminal.after(0) { progress.end() } == "")
    }

    @Test func whereNobodySeesItNothingIsSaid() {
        let terminal = Terminal()
        let progress = terminal.progress(isShown: false)
        #expect(terminal.after(5000) { progress.show(1000, of: 4000) } == "")
        #expect(terminal.after(0) { progress.end() } == "")
    }
}
