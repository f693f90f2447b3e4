import Foundation
import Subprocess
import TestSupport
import Testing

/// What programs of other people rely on, recorded from the built programs: lines of the protocol, command lines of
/// the tool with what they print, what `check` says of files, and a history that is opened.
///
/// A change of the inside changes no file of `Fence`. A change of what users see records it again with
/// `WRITE_FENCE=1 swift test --filter FenceTests`, and shows the difference in its commit.
@Suite(.bounded) struct FenceTests {
    /// The sessions, by their files' names without `.session`.
    private static let sessions: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: Fence.directory)) ?? []
        return files.filter { $0.hasSuffix(".session") }.map { String($0.dropLast(8)) }.sorted()
    }()

    @Test func thereAreSessions() { #expect(Self.sessions.count == 27) }

    @Test(arguments: sessions) func whatUsersSeeIsAsRecorded(_ name: String) async throws {
        let recorded = try RecordedText("\(name).session", in: Fence.directory)
        let seen = try await withTemporaryDirectory { directory in
            let fence = Fence(in: directory)
            do {
                try await fence.play(recorded.text)
            } catch {
                fence.write("(stopped: \(error))")
            }
            await fence.end()
            return fence.transcript
        }
        try recorded.expect(seen, rewritingIf: "WRITE_FENCE")
    }
}

/// Plays a session, and writes it again with what was seen.
///
/// Each line of a session begins with what it is:
///
///     # text        a comment
///     ! daemon …    starts the daemon with these arguments; `! kill`, `! stop`, `! reload` end it or have it reload
///     ! copy A B    copies a file of this directory into the session's
///     ! state A     makes a state directory with this history
///     A> line       sends a line on the connection A (A to D: control.sock; E, F: events.sock), and reads to its reply
///     A- line       the same, and does not wait for a reply
///     A~ text       reads on A until a line has this text
///     A.            says on A that nothing more is sent
///     A!            closes A at once
///     $ command     a shell's command, with statectl on its way
///     A| line       what came on A: after each step, all that came on every connection until a ping was answered
///     | line        what the command printed
///     ? status      how the command ended, unless with 0
///
/// Times, epochs, process numbers and versions are written as words. `@unchecked Sendable`: one task plays it.
private final class Fence: @unchecked Sendable {
    static let directory =
        "\(#filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined())/Fence"

    private(set) var transcript = ""
    private let place: String
    private var connections: [Character: LineSocket] = [:]
    private var daemon: ActivatedDaemon?
    private var pings = 0

    init(in place: String) { self.place = place }

    func write(_ line: String) { self.transcript += "\(line)\n" }

    func play(_ session: String) async throws {
        for line in session.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            guard let first = line.first else {
                self.write("")
                continue
            }
            let rest = String(line.dropFirst(2))
            switch (first, line.dropFirst().first) {
            case ("#", _): self.write(String(line))
            case ("!", " "):
                self.write(String(line))
                try await self.order(rest.split(separator: " ").map(String.init))
            case ("$", " "):
                self.write(String(line))
                try await self.run(rest)
            case ("A"..."F", ">"), ("A"..."F", "-"), ("A"..."F", "~"), ("A"..."F", "."),
                ("A"..."F", "!"):
                self.write(String(line))
                try await self.talk(
                    on: first,
                    String(line.dropFirst().first ?? " "),
                    rest.drop { $0 == " " }
                )
            default: continue
            }
        }
    }

    func end() async {
        self.connections = [:]
        guard let daemon else { return }
        daemon.send(SIGTERM)
        // How it ends is in the sessions that say so.
        _ = try? await daemon.ended()
    }

    private func order(_ words: [String]) async throws {
        switch words.first {
        case "daemon":
            let notify = try NotifySocket(in: self.place)
            let daemon = try ActivatedDaemon(
                in: self.place,
                notify: notify,
                arguments: ["--log-level", "error"]
                    + words.dropFirst().map { $0.replacing("DIR", with: self.place) },
                environment: ["BOOT_ID": "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"]
            )
            self.daemon = daemon
            try await notify.wait(for: "READY=1")
        case "kill", "stop":
            self.daemon?.send(words.first == "kill" ? SIGKILL : SIGTERM)
            for name in self.connections.keys.sorted() {
                while let line = try await self.connections[name]?.nextLine() {
                    self.write("\(name)| \(line.asRecorded)")
                }
                self.write("\(name)| (closed)")
            }
            self.connections = [:]
            if let ended = try await self.daemon?.ended() { self.write("? \(ended.status)") }
            self.daemon = nil
        case "reload":
            self.daemon?.send(SIGHUP)
        case "copy":
            try FileManager.default.copyItem(
                atPath: "\(Self.directory)/\(words[1])",
                toPath: "\(self.place)/\(words[2])"
            )
        case "state":
            let state = "\(self.place)/state"
            try FileManager.default.createDirectory(
                atPath: state,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            try FileManager.default.copyItem(
                atPath: "\(Self.directory)/\(words[1])",
                toPath: "\(state)/statemachine.sqlite"
            )
        default: throw TestFailure("no such order: \(words)")
        }
    }

    private func talk(on name: Character, _ kind: String, _ text: some StringProtocol) async throws
    {
        guard let daemon else { throw TestFailure("no daemon runs") }
        let known = self.connections[name]
        let connection = try known ?? daemon.connect(name < "E" ? \.control : \.events)
        self.connections[name] = connection
        if name >= "E", known == nil, let line = try await connection.nextLine() {
            self.write("\(name)| \(line.asRecorded)")
        }
        switch kind {
        case ">", "-":
            try connection.send(
                String(text).replacing("LONG", with: String(repeating: "x", count: 70_000))
            )
            guard kind == ">" else { return }
            try await self.read(on: name, until: /"type":"(reply|state|live|bye)"/)
            try await self.settle()
        case "~":
            try await self.read(on: name, until: Regex<Substring>(verbatim: String(text)))
            try await self.settle()
        case "!":
            connection.vanish()
            self.connections[name] = nil
        default:
            connection.endInput()
            while let line = try await connection.nextLine() {
                self.write("\(name)| \(line.asRecorded)")
            }
            self.write("\(name)| (closed)")
            self.connections[name] = nil
        }
    }

    /// Reads until a line has that, or the connection ends.
    private func read(on name: Character, until isFound: Regex<some Any>) async throws {
        while let line = try? await self.connections[name]?.nextLine() {
            self.write("\(name)| \(line.asRecorded)")
            if line.contains(isFound) { return }
        }
        self.write("\(name)| (closed)")
        self.connections[name] = nil
    }

    /// Reads, on each connection, what came before the reply to a ping.
    private func settle() async throws {
        for name in self.connections.keys.sorted() {
            guard let connection = self.connections[name] else { continue }
            self.pings += 1
            let id = "fence \(self.pings)"
            // One that the daemon has closed is read to its end.
            try? connection.send(#"{"op":"ping","id":"\#(id)"}"#)
            while true {
                // A connection that was reset after its last line has ended, too.
                guard let line = try? await connection.nextLine() else {
                    self.write("\(name)| (closed)")
                    self.connections[name] = nil
                    break
                }
                if line.contains(#""id":"\#(id)""#) { break }
                self.write("\(name)| \(line.asRecorded)")
            }
        }
    }

    private func run(_ command: String) async throws {
        let products = try BuiltProduct.statectl.path.split(separator: "/").dropLast().map {
            "/\($0)"
        }.joined()
        let path = "\(products):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
        let result = try await runTool(
            .name("sh"),
            ["-c", "cd \(self.place); \(command)"],
            environment: [
                "PATH": path, "STATEMACHINE_RUNTIME_DIRECTORY": "\(self.place)/run", "TZ": "UTC",
                "NO_COLOR": "1",
                "FENCE": Self.directory, "COLUMNS": "100", "LC_ALL": "C.UTF-8",
            ]
        )
        for line in (result.output + result.errors).split(
            separator: "\n",
            omittingEmptySubsequences: false
        ).dropLast() {
            self.write(
                "| \(line.replacing(self.place, with: "DIR").replacing(Self.directory, with: "FENCE").asRecorded)"
            )
        }
        if result.status != .exited(0) { self.write("? \(result.status)") }
        try await self.settle()
    }
}

extension StringProtocol {
    /// Without what differs from run to run.
    fileprivate var asRecorded: String {
        String(self)
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/, with: "TIME")
            .replacing(/\b[0-9a-f]{8,32}(:\d+)/) { "EPOCH\($0.1)" }
            .replacing(/"(pid|uid|gid|leftMs|ageMs|stayMs)":\d+/) { "\"\($0.1)\":N" }
            .replacing(/"overdue":{"ms":\d+/, with: "\"overdue\":{\"ms\":N")
            .replacing(/,?"unit":"[^"]*"/, with: "")
            .replacing(/"comm":"[^"]*"/, with: #""comm":"COMM""#)
            .replacing(/\((\d+), [^)]*\)/, with: "(PID, COMM)")
            // Of what runs in a unit, its name is shown instead.
            .replacing(/\((?:statectl|[^(), ]+\.(?:service|scope))\)/, with: "(statectl)")
            .replacing(/\b(by|of) (?:uid \d+|[^ ()]+) \((PID|statectl)/) {
                "\($0.1) USER (\($0.2)"
            }
            .replacing(/\b(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3}(?=\b|Z)/, with: "CLOCK")
            // Of the computer's own machines.
            .replacing(/; known: [^;]*; try statectl -m \S+$/, with: "")
            .replacing(/answered in [\d.]+ ms/, with: "answered in N ms")
            .replacing(/just now|\d+ (s|min) ago/, with: "AGO")
            .replacing(/"version":"[^"]*"/, with: #""version":"V""#)
            .replacing(/version [\d.]+, protocol/, with: "version V, protocol")
    }
}
