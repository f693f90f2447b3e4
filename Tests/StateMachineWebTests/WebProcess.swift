#if Web
import Foundation
import Glibc
import TestSupport

/// The service that serves the built page, on a socket in the file system, or on a port.
struct WebProcess {
    let path: String
    private let log: String
    let process: SpawnedProcess

    /// Any port that is free, instead of a path.
    static let port = "127.0.0.1:0"

    /// Connects to it.
    func connect() throws -> LineSocket {
        guard self.path == Self.port else { return try LineSocket(connectingTo: self.path) }
        let log = try String(contentsOfFile: self.log, encoding: .utf8)
        let digits = log.firstRange(of: "address=http://127.0.0.1:")
            .map { log[$0.upperBound...].prefix(while: \.isNumber) }
        guard let port = digits.flatMap({ UInt16($0) }) else {
            throw TestFailure("no port in \(log)")
        }
        return try LineSocket(connectingToPort: port)
    }

    /// Starts it for the machine of a daemon, and waits until it listens.
    ///
    /// At a path of its own, unless one is given.
    init(
        in directory: String,
        _ runtime: String,
        _ others: String...,
        at path: String? = nil
    ) async throws {
        try await self.init(
            in: directory,
            words: ["--runtime-directory", runtime] + others,
            at: path,
            environment: [:]
        )
    }

    /// The same for all machines below a directory, as they come.
    init(all base: String, in directory: String) async throws {
        let environment = [
            "STATEMACHINE_RUNTIME_DIRECTORY": base, "XDG_RUNTIME_DIR": "\(base)/none",
        ]
        try await self.init(in: directory, words: [], at: nil, environment: environment)
    }

    private init(
        in directory: String,
        words: [String],
        at path: String?,
        environment: [String: String]
    ) async throws {
        let own = "\(directory)/\(UInt32.random(in: 0...UInt32.max))"
        try makeDirectory(own)
        let notify = try NotifySocket(in: own)
        self.path = path ?? "\(own)/web"
        self.log = "\(own)/log"
        let listen = path == Self.port ? Self.port : "unix:\(self.path)"
        self.process = try SpawnedProcess(
            [try BuiltProduct.web.path, "--listen", listen] + words,
            environment: ["SWIFTNIO_STRICT": "1"].merging(environment) { $1 },
            notify: notify,
            output: self.log
        )
        try await notify.wait(for: "READY=1")
        // Its log, where the port is, is written by a thread of its own.
        for _ in 0..<3000 where path == Self.port {
            let log = try String(contentsOfFile: self.log, encoding: .utf8)
            if log.contains("address=http://") { break }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Requests a path; returns the answer's status line, its fields and its body.
    func get(
        _ path: String,
        _ fields: String...
    ) async throws -> (status: String, fields: [String: String], body: String) {
        let socket = try self.connect()
        try socket.ask(path, fields + ["Connection: close"])
        let status = try await socket.nextLine() ?? ""
        var found: [String: String] = [:]
        while let line = try await socket.nextLine(), line != "\r" {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw TestFailure("no field: \(line)") }
            found[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespacesAndNewlines)
        }
        // The last line of a document may have no newline, so its length decides.
        let length = Int(found["content-length"] ?? "") ?? 0
        let body = try await blocking { try socket.read(length) }
        return (status.trimmingCharacters(in: .whitespacesAndNewlines), found, body)
    }

    /// Opens a stream of a machine's events after that id.
    func events(of machine: String = "run", after id: String? = nil) throws -> LineSocket {
        let socket = try self.connect()
        try socket.ask("/machines/\(machine)/events", id.map { ["Last-Event-ID: \($0)"] } ?? [])
        return socket
    }

    /// Opens a stream of all machines after that id.
    func allEvents(after id: String? = nil) throws -> LineSocket {
        let socket = try self.connect()
        try socket.ask("/events" + (id.map { "?since=\($0)" } ?? ""), [])
        return socket
    }

    /// Sends a request of HTTP/1.0.
    func old(_ path: String, _ fields: String...) throws -> LineSocket {
        let socket = try self.connect()
        let lines = ["GET \(path) HTTP/1.0", "Host: localhost"] + fields
        try socket.send(raw: lines.joined(separator: "\r\n") + "\r\n\r\n")
        return socket
    }

    /// Ends it, and waits for its exit status.
    func end() async throws -> CInt { try await self.process.end() }
}

/// An event of a stream, as it arrived.
struct Event {
    let kind: String
    let id: String?
    let data: JSONLine
}

extension LineSocket {
    /// Reads lines until the service ends the connection; the last may have no end.
    func allLines() async throws -> [String] {
        try await blocking {
            var lines: [String] = []
            while let line = try self.readLine() { lines.append(line) }
            return lines + [self.unfinishedLine]
        }
    }

    fileprivate func ask(_ path: String, _ fields: [String]) throws {
        let fields =
            fields.contains { $0.hasPrefix("Host:") } ? fields : ["Host: localhost"] + fields
        let lines = ["GET \(path) HTTP/1.1"] + fields
        try self.send(raw: lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    /// Reads to the end of the connection; returns at most `count` bytes.
    fileprivate func read(_ count: Int) throws -> String {
        var text = ""
        while let line = try self.readLine() { text += line + "\n" }
        guard text.utf8.count < count else { return String(text.prefix(count)) }
        return text + self.unfinishedLine
    }

    /// The next event of those kinds; lines of the transfer encoding are skipped.
    func event(_ kinds: String...) async throws -> Event {
        try await blocking {
            var (id, kind): (String?, String?)
            var beats = 0
            while let line = try self.readLine() {
                if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
                if line.hasPrefix("event: ") { kind = String(line.dropFirst(7)) }
                guard line.hasPrefix("data: "), let told = kind else { continue }
                let event = Event(kind: told, id: id, data: try JSONLine(String(line.dropFirst(6))))
                // A beat only shows that the stream is there; on a busy computer it may come between.
                if kinds.isEmpty ? told != "beat" : kinds.contains(told) { return event }
                // Beats go on for ever, and nobody can cancel a read.
                beats += 1
                guard beats < 8 else {
                    throw TestFailure("nothing but beats where an event was expected")
                }
                (id, kind) = (nil, nil)
            }
            throw TestFailure("the stream ended where an event was expected")
        }
    }
}
#endif
