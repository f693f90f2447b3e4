import DaemonScripts
import Glibc
import StateMachineCore
import TestSupport
import Testing

@testable import statectl

@Suite(.bounded) struct CursorFileTests {
    @Test func aMissingFileIsABeginning() async throws {
        try await Scratch.with { scratch in
            let cursor = try CursorFile(path: "\(scratch.path)/cursor").read()
            #expect(cursor == nil)
        }
    }

    @Test func whatWasWrittenIsReadAndNothingElseIsLeft() async throws {
        try await Scratch.with { scratch in
            let file = CursorFile(path: "\(scratch.path)/cursor")
            try file.write("7f3a9c:40")
            try file.write("7f3a9c:41")
            #expect(try file.read() == "7f3a9c:41")
            #expect(try scratch.read("cursor") == "7f3a9c:41\n")
            #expect(try scratch.names == ["cursor"])
        }
    }

    @Test func aPlantedLinkIsReplacedAndNotFollowed() async throws {
        try await Scratch.with { scratch in
            try scratch.write("kept", to: "elsewhere")
            let path = "\(scratch.path)/cursor"
            // Both at the cursor's own path, and where one might expect it to be written first.
            for name in [path, "\(path).\(getpid()).tmp"] {
                #expect(symlink("\(scratch.path)/elsewhere", name) == 0)
            }
            try CursorFile(path: path).write("7f3a9c:40")
            #expect(try scratch.read("elsewhere") == "kept")
            #expect(try CursorFile(path: path).read() == "7f3a9c:40")
        }
    }

    @Test func whatIsNoFileOfItsOwnIsNotRead() async throws {
        try await Scratch.with { scratch in
            try scratch.write("secret", to: "elsewhere")
            let (link, pipe) = ("\(scratch.path)/link", "\(scratch.path)/pipe")
            #expect(symlink("\(scratch.path)/elsewhere", link) == 0 && mkfifo(pipe, 0o600) == 0)
            for (path, reason) in [
                (link, "it is a link; name the file itself"), (pipe, "it is not a regular file"),
            ] {
                let refusal = #expect(throws: Refusal.self) { try CursorFile(path: path).read() }
                #expect(refusal?.sentence == "the cursor file \(path) cannot be read: \(reason)")
            }
        }
    }

    @Test(arguments: ["", "\n", "hello\n", "7f3a9c\n", "a:1\nb:2\n", "a b:1", ":3"])
    func nonsenseIsQuoted(text: String) async throws {
        try await Scratch.with { scratch in
            try scratch.write(text, to: "cursor")
            let file = CursorFile(path: "\(scratch.path)/cursor")
            let refusal = #expect(throws: Refusal.self) { try file.read() }
            let quoted = "holds \"\(text)\", which is not a cursor".printable
            #expect(refusal?.sentence.contains(quoted) == true)
            #expect(refusal?.status == .usage)
        }
    }

    @Test func whatCannotBeReadOrWrittenIsAnError() async throws {
        try await Scratch.with { scratch in
            let directory = CursorFile(path: scratch.path)
            #expect(throws: Refusal.self) { try directory.read() }
            let nowhere = CursorFile(path: "\(scratch.path)/a/b")
            let refusal = #expect(throws: Refusal.self) { try nowhere.write("a:1") }
            #expect(refusal?.sentence.contains("\(scratch.path)/a/b cannot be written") == true)
            #expect(refusal?.status == .no)
        }
    }

    @Test func oneWriteServesAllCursorsOfASecond() async throws {
        try await Scratch.with { scratch in
            let keeper = CursorKeeper(CursorFile(path: "\(scratch.path)/cursor"))
            for seq in 1...100 { keeper.note("a:\(seq)") }
            #expect(try scratch.names == [])
            try await withThrowingTaskGroup(of: Void.self) { group in
                let clock = StoppedClock()
                group.addTask { try await keeper.run(clock: clock) }
                await clock.isAsked()
                keeper.note("a:101")
                let written = try scratch.read("cursor")
                #expect(written == "a:100\n")
                group.cancelAll()
            }
            try keeper.write()
            #expect(try scratch.read("cursor") == "a:101\n")
        }
    }
}

/// A clock that stands still, and signals when somebody begins to wait on it.
private final class StoppedClock: Clock {
    private let asked: AsyncStream<Void>
    private let ask: AsyncStream<Void>.Continuation
    private let base = InstantClock()

    init() { (self.asked, self.ask) = AsyncStream.makeStream() }

    var now: InstantClock.Instant { self.base.now }
    var minimumResolution: Duration { self.base.minimumResolution }

    func isAsked() async {
        for await _ in self.asked { return }
    }

    func sleep(until deadline: InstantClock.Instant, tolerance: Duration?) async throws {
        self.ask.yield()
        let (never, _) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}
        try Task.checkCancellation()
    }
}
