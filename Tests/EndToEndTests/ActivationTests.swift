import Foundation
import Glibc
import StateMachineSQLite
import TestSupport
import Testing

/// Sockets that the service manager creates and hands over.
@Suite(.bounded) struct ActivationTests {
    /// Runs `body` with a service whose directory contains an empty `run`.
    private func withManager(
        _ body: @escaping @Sendable (Service, _ directory: String) async throws -> Void
    ) async throws {
        try await withIdleService { service in
            try makeDirectory("\(service.directory)/run")
            try await body(service, service.directory)
        }
    }

    private func mode(of path: String) throws -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw TestFailure("\(path): errno \(errno)") }
        return Int(status.st_mode & 0o7777)
    }

    @Test func handedOverSocketsAreUsedAsTheyAre() async throws {
        try await self.withManager { service, directory in
            let control = try Descriptor.socket(named: "control", at: "\(directory)/c")
            let events = try Descriptor.socket(named: "events", at: "\(directory)/e")
            chmod("\(directory)/c", 0o640)
            // A client that connects before the daemon starts waits in the queue.
            let early = try LineSocket(connectingTo: "\(directory)/c")
            try early.send("get")
            let daemon = try await service.start(handing: [events, control])
            #expect(try await early.next().state == "ready")
            #expect(try await LineSocket(connectingTo: "\(directory)/e").next().type == "state")
            let denied = try LineSocket(connectingTo: "\(directory)/e")
            _ = try await denied.next()
            #expect(try await denied.ask("set ready value=true").error == "forbidden")

            #expect(try await daemon.end() == 0)
            #expect(try self.mode(of: "\(directory)/c") == 0o640)
            // The manager's socket is still open: a client that connects now waits for the next
            // daemon.
            let late = try LineSocket(connectingTo: "\(directory)/c")
            let next = try service.spawn(handing: [control, events])
            #expect(try await late.ask("ping").seq == 0)
            #expect(try await next.end(by: SIGKILL) == -SIGKILL)
            #expect(throws: Never.self) { try LineSocket(connectingTo: "\(directory)/c") }
            #expect(!FileManager.default.fileExists(atPath: daemon.control))
        }
    }

    @Test(arguments: ["control", "events"])
    func theDoorThatIsMissingIsMade(handed: String) async throws {
        try await self.withManager { service, directory in
            let daemon = try await service.start(
                handing: [try .socket(named: handed, at: "\(directory)/run/\(handed).sock")]
            )
            #expect(try await daemon.connect(\.control).ask("ping").ok == true)
            #expect(try await daemon.connect(\.events).next().type == "state")
            let made = handed == "events" ? daemon.control : daemon.events
            #expect(try self.mode(of: made) == (handed == "events" ? 0o660 : 0o666))
            #expect(try await daemon.end() == 0)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: daemon.directory)
                    == ["\(handed).sock"]
            )
        }
    }

    enum Wrong: CaseIterable {
        case datagram, deaf, unknown, doubled, noSocket, connected

        func descriptors(in directory: String) throws -> [Descriptor] {
            let path = "\(directory)/s"
            switch self {
            case .datagram:
                return [try .socket(named: "control", at: path, type: SOCK_DGRAM, listening: false)]
            case .deaf: return [try .socket(named: "control", at: path, listening: false)]
            case .unknown: return [try .socket(named: "statemachine.socket", at: path)]
            case .doubled:
                return try ["1", "2"].map { try .socket(named: "events", at: path + $0) }
            case .noSocket:
                return [Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC), name: "events")]
            case .connected: return Descriptor.pair(named: "events", "other")
            }
        }

        var complaint: String {
            switch self {
            case .datagram:
                #""control", but control is a Unix datagram socket that does not listen"#
            case .deaf: #""control", but control is a Unix stream socket that does not listen"#
            case .unknown:
                #""statemachine.socket", but "statemachine.socket" is not one of the daemon's sockets"#
            case .doubled: #""events", "events", but two of them are called events"#
            case .noSocket: #""events", but events is not a socket"#
            case .connected: #""events", "other", but events is a connected Unix stream socket"#
            }
        }
    }

    @Test(arguments: Wrong.allCases)
    func whatCannotBeADoorIsRefusedWithWhatWasExpected(wrong: Wrong) async throws {
        try await self.withManager { service, directory in
            let daemon = try service.spawn(handing: try wrong.descriptors(in: directory))
            let message = try await service.notify.wait(for: "STATUS=")
            let (errors, status) = try await daemon.ended()
            #expect(status == EX_CONFIG)
            for text in [errors, message] {
                #expect(text.contains("the service manager handed over \(wrong.complaint)"))
                #expect(text.contains("FileDescriptorName=control"))
            }
            #expect(message.hasSuffix("\nEXIT_STATUS=78"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: daemon.directory).isEmpty)
        }
    }

    /// Why a daemon does not start, and would not the next time.
    enum Mistake: CaseIterable {
        case flag, configuration, machine, sockets, descriptors
        case lockedHistory, historyOfAFile, linkedDatabase, databaseOfTwoNames, newerDatabase
        case openDirectory, fileAtADoor, linkAtADoor, directoryAtADoor
        // Only root can give a file away.
        case foreignDatabase, foreignHistory, foreignDirectory

        static var possible: [Mistake] {
            let foreign = [foreignDatabase, foreignHistory, foreignDirectory]
            return Self.allCases.filter { geteuid() == 0 || !foreign.contains($0) }
        }

        /// The sockets that the manager hands over; a door that is missing is made in `run`.
        var handed: [String] {
            switch self {
            case .sockets: ["control", "control"]
            case .openDirectory, .fileAtADoor, .linkAtADoor, .directoryAtADoor, .foreignDirectory:
                ["control"]
            default: ["control", "events"]
            }
        }

        /// What starts the daemon.
        var command: [String] {
            self == .descriptors ? ["/bin/sh", "-c", #"ulimit -n 22; exec "$@""#, "sh"] : []
        }

        /// Makes it; returns the daemon's arguments, and what has to stay open.
        func arrange(in directory: String) throws -> (arguments: [String], open: [Descriptor]) {
            let file = "\(directory)/wrong.yaml"
            try "nokey: 1\n".write(toFile: file, atomically: true, encoding: .utf8)
            let (run, state) = ("\(directory)/run", "\(directory)/state")
            let (door, database) = ("\(run)/events.sock", "\(state)/statemachine.sqlite")
            var open: [Descriptor] = []
            switch self {
            case .flag: return (["--nokey"], [])
            case .configuration: return (["--config", file], [])
            case .machine: return (["--machine", file], [])
            case .sockets, .descriptors: break
            case .openDirectory: #expect(chmod(run, 0o777) == 0)
            case .foreignDirectory: #expect(chown(run, 65534, 65534) == 0)
            case .fileAtADoor: try Data("mine".utf8).write(to: URL(filePath: door))
            case .linkAtADoor: #expect(symlink("\(run)/elsewhere", door) == 0)
            case .directoryAtADoor: try makeDirectory(door)
            case .historyOfAFile: try Data().write(to: URL(filePath: state))
            case .lockedHistory, .linkedDatabase, .databaseOfTwoNames, .newerDatabase,
                .foreignDatabase, .foreignHistory:
                #expect(mkdir(state, 0o700) == 0)
                let place = self == .linkedDatabase ? file : database
                let flags = O_RDWR | O_CREAT | O_CLOEXEC
                let written = Descriptor(Glibc.open(place, flags, 0o600), name: "database")
                switch self {
                case .lockedHistory:
                    let lock = "\(state)/statemachine.lock"
                    open = [Descriptor(Glibc.open(lock, flags, 0o600), name: "lock")]
                    #expect(flock(open[0].number, LOCK_EX | LOCK_NB) == 0)
                case .linkedDatabase: #expect(symlink(file, database) == 0)
                case .databaseOfTwoNames: #expect(link(database, "\(directory)/other") == 0)
                case .newerDatabase:
                    try Database(database).execute(
                        "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);"
                            + "INSERT INTO grdb_migrations VALUES ('of-tomorrow')"
                    )
                case .foreignDatabase: #expect(fchown(written.number, 65534, 65534) == 0)
                default: #expect(chown(state, 65534, 65534) == 0)
                }
            }
            return (["--state-directory", state], open)
        }

        var complaint: String {
            switch self {
            case .flag, .configuration, .machine: "nokey"
            case .sockets: "two of them are called control"
            case .descriptors: "the limit of 22 open files leaves room for"
            case .lockedHistory: "statemachine.lock is locked by another daemon"
            case .historyOfAFile: "/state is not a directory; choose another --state-directory"
            case .linkedDatabase, .databaseOfTwoNames, .foreignDatabase:
                "must be a regular file of user"
            case .newerDatabase: "was written by a newer version"
            case .openDirectory: "other users may write to the runtime directory"
            case .fileAtADoor, .linkAtADoor, .directoryAtADoor: "events.sock is in the way"
            case .foreignHistory, .foreignDirectory: "belongs to uid 65534"
            }
        }
    }

    /// The manager would start it again for the same client, until it gives up on the sockets.
    @Test(arguments: Mistake.possible)
    func whoWaitsForADaemonThatDoesNotStartIsToldWhy(_ mistake: Mistake) async throws {
        try await self.withManager { service, directory in
            let sockets = try mistake.handed.enumerated().map { index, name in
                try Descriptor.socket(named: name, at: "\(directory)/\(index)")
            }
            let clients = try sockets.indices.map {
                try LineSocket(connectingTo: "\(directory)/\($0)")
            }
            try clients[0].send("get")
            let (arguments, open) = try mistake.arrange(in: directory)
            defer { withExtendedLifetime(open) {} }
            let daemon = try service.spawn(arguments, handing: sockets, command: mistake.command)
            for client in clients {
                let bye = try await client.next()
                #expect(bye.type == "bye")
                #expect(bye.string("reason") == "refused")
                #expect(bye.string("message")?.contains(mistake.complaint) == true)
                #expect(bye.int("retryMs") == 5000)
                #expect(try await client.nextLine() == nil)
            }
            #expect(try await daemon.ended().status == (mistake == .flag ? EX_USAGE : EX_CONFIG))
            if mistake == .fileAtADoor {
                #expect(try String(contentsOfFile: daemon.events, encoding: .utf8) == "mine")
                #expect(!FileManager.default.fileExists(atPath: daemon.control))
            }
            // Nobody waits any more for whom the manager would start it.
            for socket in sockets {
                var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
                #expect(poll(&waiting, 1, 0) == 0)
            }
        }
    }

    /// A start that may succeed next time leaves clients in the queue.
    @Test func whoWaitsForADaemonThatIsStartedAgainWaits() async throws {
        try await self.withManager { service, directory in
            let sockets = try ["control", "events"].map {
                try Descriptor.socket(named: $0, at: "\(directory)/\($0)")
            }
            let client = try LineSocket(connectingTo: "\(directory)/control")
            try client.send("ping")
            let state = "\(directory)/state"
            #expect(mkdir(state, 0o700) == 0)
            let database = try Database("\(state)/statemachine.sqlite")
            // As a backup has it for a while.
            try database.execute("CREATE TABLE other (n); BEGIN EXCLUSIVE")
            let daemon = try service.spawn(["--state-directory", state], handing: sockets)
            let (errors, status) = try await daemon.ended()
            #expect(errors.contains("another program has it locked"))
            #expect(status == 1)
            let next = try service.spawn(handing: sockets)
            #expect(try await client.next().ok == true)
            #expect(try await next.end() == 0)
        }
    }

    @Test func theToolThatActivatesFindsItUsable() async throws {
        try await self.withManager { service, directory in
            let daemon = try service.spawn(
                command: [
                    "systemd-socket-activate", "--listen=\(directory)/run/control.sock",
                    "--listen=\(directory)/run/events.sock", "--fdname=control:events",
                    "-E", "NOTIFY_SOCKET",
                ]
            )
            try await daemon.wait(forErrors: "Listening on \(directory)/run/events.sock")
            #expect(try await daemon.connect(\.control).ask("ping").seq == 0)
            #expect(try await daemon.end() == 0)
        }
    }

    /// A stopped daemon accepts nobody, so the connections that get in are those the backlog holds.
    @Test func aThousandConnectionsMayWaitToBeAccepted() async throws {
        try await self.withManager { service, directory in
            let daemon = try await service.start()
            daemon.send(SIGSTOP)
            try await daemon.stopped()
            // The kernel queues one more than the limit it was given.
            for path in [daemon.control, daemon.events] {
                #expect(try Backlog.fill(path, atMost: 1100) == min(Self.mostWaiting, 1024) + 1)
            }
            #expect(try await daemon.end(by: SIGKILL) == -SIGKILL)
        }
    }

    /// The manager sets the backlog; the daemon must not make it smaller.
    @Test func aHandedOverSocketKeepsItsQueue() async throws {
        try await self.withManager { service, directory in
            let paths = ["\(directory)/control", "\(directory)/events"]
            let sockets = try paths.map { path in
                let name = String(path.dropFirst(directory.count + 1))
                return try Descriptor.socket(named: name, at: path)
            }
            for socket in sockets { listen(socket.number, .max) }
            let daemon = try await service.start(handing: sockets)
            daemon.send(SIGSTOP)
            try await daemon.stopped()
            for path in paths {
                #expect(try Backlog.fill(path, atMost: 1100) == min(Self.mostWaiting + 1, 1100))
            }
            #expect(try await daemon.end(by: SIGKILL) == -SIGKILL)
        }
    }

    /// The kernel's own limit on a backlog.
    private static var mostWaiting: Int {
        let text = try? String(contentsOfFile: "/proc/sys/net/core/somaxconn", encoding: .utf8)
        return text.flatMap { Int($0.dropLast()) } ?? 4096
    }
}
