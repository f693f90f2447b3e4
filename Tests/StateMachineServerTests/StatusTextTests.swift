import StateMachineCore
import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// The one line that the service manager shows.
struct StatusTextTests {
    private enum Note: EnumState {
        case text(String)

        static var initial: Note { .text("") }
        static var examples: [Note] { [.text("")] }
    }

    @Test func aLongStateIsCutAndTheRestIsThere() {
        let note = Note.text(String(repeating: "\u{202E}å ", count: 20_000))
        let snapshot = Place(seq: 7, value: note.value, at: WallTime(microseconds: 0), stay: 7)
        var facts = StatusReporter.Facts(schema: StateCoding<Note>().schema)
        facts.newest = snapshot
        facts.watches = 1
        facts.trouble = String(repeating: "x", count: 10_000)
        let text = facts.text ?? ""
        // What systemd reads of a message, which also contains "STATUS=".
        #expect(text.utf8.count < 4000)
        #expect(text.hasPrefix("text("))
        #expect(text.contains("…, seq 7, 1 watch; changes are refused: xxx"))
        #expect(!text.contains("\u{202E}"))
    }
}
