import Glibc
import Processes
import StateMachineCore
import TestSupport
import Testing

@testable import statectl

/// Commands that end with whoever runs them.
@Suite(.bounded) struct KeptCommandTests {
    private func shell(_ script: String, _ arguments: String...) throws -> ChildCommand {
        try #require(ChildCommand(["sh", "-c", script] + arguments))
    }

    /// Begins to run it; whoever cancels the task has it ended.
    private func begin(
        _ command: ChildCommand,
        _ output: Pipe,
        keeping descriptor: CInt? = nil,
        grace: Duration = .milliseconds(100)
    ) -> Task<ChildCommand.Ending, Never> {
        Task { await command.run(output: output.writeEnd, keeping: descriptor, grace: grace) }
    }

    @Test func whatIgnoresSIGTERMIsKilledWithAllThatItHasStarted() async throws {
        let output = try Pipe()
        let script = """
            trap '' TERM
            (sh -c 'tail -f /dev/null & wait' & wait) &
            set -m; tail -f /dev/null &
            echo begun; while :; do wait; done
            """
        let run = self.begin(try self.shell(script), output)
        #expect(try await output.line() == "begun")
        run.cancel()
        #expect(await run.value == .signalled(9))
        // None of them has the pipe any more.
        #expect(try await output.rest() == "")
    }

    @Test func aCommandMayCleanUpWhenItIsEnded() async throws {
        let output = try Pipe()
        let script = """
            trap 'echo told; exit 3' TERM
            tail -f /dev/null & echo begun; wait
            """
        let run = self.begin(try self.shell(script), output, grace: .seconds(60))
        #expect(try await output.line() == "begun")
        run.cancel()
        #expect(await run.value == .exited(3))
        #expect(try await output.rest() == "told\n")
    }

    @Test func whatIsKeptStaysOpenUntilNothingIsLeftOfTheCommand() async throws {
        let (output, kept) = (try Pipe(), try Pipe())
        let command = try self.shell("trap '' TERM; echo $$; while :; do tail -f /dev/null; done")
        let run = self.begin(command, output, keeping: kept.writeEnd)
        let pid = try #require(pid_t(try await output.line()))
        run.cancel()
        _ = try await kept.rest()
        #expect(kill(pid, 0) != 0)
        #expect(await run.value == .signalled(9))
    }

    /// What a program has put away as a daemon is meant to stay.
    @Test func whatHasASessionOfItsOwnIsLeftAlone() async throws {
        let output = try Pipe()
        let command = try self.shell("setsid sh -c 'echo $$; exec tail -f /dev/null' & wait")
        let run = self.begin(command, output)
        let pid = try #require(pid_t(try await output.line()))
        run.cancel()
        #expect(await run.value == .signalled(15))
        #expect(kill(pid, SIGKILL) == 0)
        #expect(try await output.rest() == "")
    }

    @Test func aCommandEndsWithItsKeeper() async throws {
        let output = try Pipe()
        let command = try self.shell("trap '' TERM; echo $PPID; exec tail -f /dev/null")
        let run = self.begin(command, output)
        let keeper = try #require(pid_t(try await output.line()))
        kill(keeper, SIGKILL)
        #expect(await run.value == .signalled(9))
        #expect(try await output.rest() == "")
    }

    /// What ends programs by their name or words must not end both, and nobody waits for what a keeper has open.
    @Test func aKeeperHasANameAndDescriptorsOfItsOwn() async throws {
        let output = try Pipe()
        let run = self.begin(try self.shell("echo $PPID; exec tail -f /dev/null"), output)
        let keeper = try #require(pid_t(try await output.line()))
        // The socket to this process, and what says that a child has ended; the command may begin before.
        let count = try await blocking { () throws -> Int in
            for _ in 0..<longestWait / 10 where names(in: "/proc/\(keeper)/fd").count != 2 {
                usleep(10_000)
            }
            return names(in: "/proc/\(keeper)/fd").count
        }
        #expect(count == 2)
        #expect(text(of: "/proc/\(keeper)/comm") == "command-keeper\n")
        #expect(text(of: "/proc/\(keeper)/cmdline").hasPrefix("command-keeper\0"))
        run.cancel()
        #expect(await run.value == .signalled(15))
    }

    /// What it is told last may come when it no longer listens.
    @Test func aCommandsEndIsHeardWhateverItsKeeperIsToldMeanwhile() async throws {
        let command = try self.shell("exit 3")
        for _ in 0..<50 {
            let ending = await command.run { process in
                for _ in 0..<100 { process.send(SIGCONT) }
            }
            #expect(ending == .exited(3))
        }
    }

    @Test func wordsArePassedOnByteForByte() async throws {
        let output = try Pipe()
        let words: [[UInt8]] = [Array("printf".utf8), Array("%s\n".utf8), [0x61, 0xff, 0xc3]]
        let command = try #require(ChildCommand(bytes: words))
        #expect(await command.run(output: output.writeEnd) == .exited(0))
        output.closeWriteEnd()
        #expect(try await output.restOfBytes() == [0x61, 0xff, 0xc3, 0x0a])
    }

    @Test func dotIsNotWaitedForWithoutEnd() async throws {
        let refusal = await #expect(throws: Refusal.self) {
            try await Graphviz.picture(
                of: "digraph {}",
                by: ["tail", "-f", "/dev/null"],
                within: .milliseconds(50)
            )
        }
        #expect(refusal?.sentence.hasPrefix("dot has not drawn the machine within 0.05 s") == true)
    }

    @Test func whatDotDrawsIsThePicture() async throws {
        #expect(try await Graphviz.picture(of: "a → b", by: ["cat"]) == "a → b")
        let refusal = await #expect(throws: Refusal.self) {
            try await Graphviz.picture(of: "", by: ["statectl-no-such-command"])
        }
        #expect(refusal?.sentence.hasPrefix("cannot run dot") == true)
    }
}

/// A pipe whose reading ends when nobody has the other end any more.
///
/// Guarded state: whether `writeEnd` is open, behind its lock.
private final class Pipe: Sendable {
    let writeEnd: CInt
    private let readEnd: CInt
    private let isOpen = Lock(true)

    init() throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw TestFailure("no pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (self.readEnd, self.writeEnd) = (ends[0], ends[1])
    }

    deinit {
        self.closeWriteEnd()
        close(self.readEnd)
    }

    func closeWriteEnd() {
        if self.isOpen.withLock({ exchange(&$0, with: false) }) { close(self.writeEnd) }
    }

    /// The next line.
    func line() async throws -> String {
        try await blocking {
            var bytes: [UInt8] = []
            while let byte = try self.byte(), byte != UInt8(ascii: "\n") { bytes.append(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// All that still comes until nobody else has the other end.
    func rest() async throws -> String {
        String(decoding: try await self.restOfBytes(), as: UTF8.self)
    }

    func restOfBytes() async throws -> [UInt8] {
        self.closeWriteEnd()
        return try await blocking {
            var bytes: [UInt8] = []
            while let byte = try self.byte() { bytes.append(byte) }
            return bytes
        }
    }

    private func byte() throws -> UInt8? {
        var wish = pollfd(fd: self.readEnd, events: Int16(POLLIN), revents: 0)
        guard poll(&wish, 1, longestWait) > 0 else { throw TestFailure("nothing came") }
        var byte: UInt8 = 0
        return read(self.readEnd, &byte, 1) == 1 ? byte : nil
    }
}

private func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names
}
