import NIOCore
import StateMachineProtocol

/// One task's talk over one connection: a request, then its reply.
package struct Dialogue {
    package let connection: Connection
    private let lines: Connection.Lines.Iterator

    package init(_ connection: Connection) {
        self.connection = connection
        self.lines = connection.lines.makeAsyncIterator()
    }

    /// Sends a request and skips lines up to the next reply.
    ///
    /// - Parameters:
    ///   - request: must be the only one that is not answered yet.
    ///   - limit: after how long to give up on a silent daemon; nil means never.
    /// - Returns: the reply, whatever it says.
    /// - Throws: ``ClientError``, or `CancellationError`.
    func reply(to request: Request, within limit: Duration? = nil) async throws -> Line {
        let deadline = limit.map { self.connection.expectAnswer(within: $0) }
        defer { deadline?.cancel() }
        try await self.send(request)
        while true {
            let line = try await self.next()
            if line.kind == .reply { return line }
        }
    }

    /// Sends a request; on a closed connection it does nothing, as the lines still unread say why.
    package func send(_ request: Request) async throws {
        do {
            try await self.connection.send(request)
        } catch ClientError.lost {
            return
        }
    }

    /// The next line; throws if it is a farewell or the connection has ended.
    package func next() async throws -> Line {
        guard let line = try await self.lines.next() else {
            throw ClientError.lost(path: self.connection.path)
        }
        if line.kind == .bye { throw ClientError.dismissed(line) }
        return line
    }
}
