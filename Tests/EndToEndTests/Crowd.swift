import Glibc
import Subprocess
import TestSupport

/// Many connections of another user, each a process; only root can create them.
enum Crowd {
    /// Opens the connections, each of which sends `ping`, and returns how many were served.
    ///
    /// `body` runs when all have been answered and none has ended.
    static func run(
        _ count: Int,
        as uid: Int,
        at path: String,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Int {
        // All of them stay while this end of the FIFO is open, whatever happens to the test.
        let fifo = "\(path).hold"
        guard mkfifo(fifo, 0o644) == 0, chmod(fifo, 0o644) == 0 else {
            throw TestFailure("cannot make \(fifo): errno \(errno)")
        }
        let hold = open(fifo, O_RDWR | O_CLOEXEC)
        let script = """
            exec 3<"$3"
            for i in $(seq "$2"); do
                { echo ping; cat <&3; } | socat -t 60 - "UNIX-CONNECT:$1" &
            done
            exec 3<&-
            wait
            """
        let result = try await Subprocess.run(
            .name("setpriv"),
            arguments: Arguments(
                DaemonProcess.foreign(uid) + [
                    "bash", "-c", script, "crowd", path, "\(count)", fifo,
                ]
            ),
            input: .none,
            output: .sequence,
            error: .discarded
        ) { crowd in
            var isHeld = true
            defer { if isHeld { close(hold) } }
            var lines = crowd.standardOutput.strings().makeAsyncIterator()
            var served = 0
            for _ in 0..<count where try await lines.next()?.contains(#""ok":true"#) == true {
                served += 1
            }
            try await body()
            close(hold)
            isHeld = false
            while try await lines.next() != nil {}
            return served
        }
        unlink(fifo)
        return result.takeClosureResult()
    }
}

extension DaemonProcess {
    static func foreign(_ uid: Int) -> [String] {
        ["--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups"]
    }

    /// Lets every user connect to the control door.
    func admitEverybody() throws {
        guard chmod(self.directory, 0o755) == 0, chmod(self.control, 0o666) == 0 else {
            throw TestFailure("cannot open \(self.control): errno \(errno)")
        }
    }

    /// What the control door answers to another user.
    func askAsForeigner(_ request: String) async throws -> JSONLine {
        let answer = try await runTool(
            .name("setpriv"),
            Self.foreign(65_534) + ["socat", "-t", "60", "-", "UNIX-CONNECT:\(self.control)"],
            input: request + "\n"
        )
        return try JSONLine(answer.output)
    }
}
