import TestSupport
import Testing

/// A machine that is held, and daemons that end and come back, with the clients of the first still there.
enum KeptVoters {
    static let machine = """
        start: idle
        to: [idle, busy, waiting]
        states:
          idle: {}
          busy: {fields: {n: {type: integer, default: 0}}}
          waiting: {after: {1s: busy}}
        """

    static let hold = #"{"op":"hold","before":["busy"],"why":"mine"}"#

    /// Runs the daemon twice, with the clocks of one computer; the clients of the first are still
    /// there when it ends.
    static func twice(
        graceMs: Int? = nil,
        _ first: @escaping @Sendable (DeclaredDaemon) async throws -> Void,
        _ second: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        try await DeclaredMachine.with(Self.machine) { machine in
            try await machine.run(first)
            try await machine.run(graceMs: graceMs, second)
        }
    }

    /// The same, where a client of the first has asked for something.
    static func twice(
        after line: String,
        graceMs: Int? = nil,
        _ second: @escaping @Sendable (DeclaredDaemon) async throws -> Void
    ) async throws {
        let clients = Recorder<LineSocket>()
        try await Self.twice(graceMs: graceMs, Self.take(line, clients), second)
        withExtendedLifetime(clients) {}
    }

    static func take(
        _ line: String,
        _ clients: Recorder<LineSocket>
    ) -> @Sendable (DeclaredDaemon) async throws -> Void {
        { daemon async throws in
            let client = try daemon.connect()
            clients.record(client)
            #expect(try await client.ask(line).ok == true)
        }
    }

    /// A client that has sent a set about which a guard has been asked.
    static func setter(of daemon: DeclaredDaemon) async throws -> LineSocket {
        let setter = try daemon.connect()
        try setter.send("set busy")
        while try await daemon.ask("stats").items("guards")?.first?.bool("isAsked") != true {}
        return setter
    }

    static let freeze =
        #"{"op":"hold","before":["busy"],"as":"freeze","untilMs":3600000,"why":"year's end"}"#
}
