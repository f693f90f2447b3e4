import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import ServiceLog
import StateMachineCore
import StateMachineProtocol
import Systemd

/// From one process to the next.
extension DaemonRun {
    /// Resumes what the last process left with the service manager.
    func take(
        _ taken: InheritedConnections,
        to server: StateServer,
        on group: any EventLoopGroup
    ) async throws {
        guard !taken.names.isEmpty else { return }
        await self.manager.tell("taken") { notifier in
            for name in taken.names { try notifier.removeFromStore(name) }
        }
        try await taken.resume(at: server, on: group)
        self.logger.notice(
            "\(CataloguedMessage.takenUp.rawValue)",
            metadata: ["connections": "\(taken.count)"]
        )
    }

    /// Leaves the connections with the service manager; if that fails, tells clients to come back.
    func handOverConnections(of server: StateServer) async throws {
        let session = await self.session()
        let left = try await server.loop.flatSubmit { server.handOverConnections(with: session) }
            .get()
        // A history keeps the required guards, which belong to no connection.
        let isOfUse =
            !left.descriptors.isEmpty
            || self.ownPast == nil && left.record.kept?.isEmpty == false
        guard isOfUse else { return }
        let isStored = await self.manager.ask("connections", for: OutgoingConnections.timeout) {
            try left.store($0)
        }
        if isStored == true {
            if session != nil { self.sharing?.leaveSession() }
            left.close()
            self.logger.notice(
                "\(CataloguedMessage.handedOver.rawValue)",
                metadata: ["connections": "\(left.descriptors.count)"]
            )
        } else {
            await self.manager.tell("withdrawal") { try OutgoingConnections.withdraw($0) }
            left.sayGoodbye()
            self.logger.notice(
                "the service manager did not keep the connections, clients have to reconnect",
                metadata: ["connections": "\(left.descriptors.count)"]
            )
        }
    }
}

extension DaemonRun {
    /// What the next process needs to continue the session of a machine that hosts share; nil: there is none.
    private func session() async -> SharedSession? {
        guard let sharing else { return nil }
        return await withCheckedContinuation { continuation in
            sharing.session { continuation.resume(returning: $0) }
        }
    }
}

extension StateServer {
    /// Takes all connections off their channels, to be left with the service manager.
    ///
    /// What there is no time to write is left to the next process.
    ///
    /// Those that are on their way out already are told to go. Undecided sets are refused, as at
    /// any end; nothing is decided any more.
    ///
    /// - Parameter session: that of a machine that hosts share, which the next process continues.
    /// - Returns: the connections to be left, once all others are gone.
    func handOverConnections(
        with session: SharedSession?
    ) -> EventLoopFuture<OutgoingConnections> {
        self.loop.preconditionInEventLoop()
        let promise = self.loop.makePromise(of: OutgoingConnections.self)
        self.drainSets {
            var records: [HandOverRecord.Connection] = []
            var descriptors: [CInt] = []
            for connection in self.clients { connection.prepareHandOver() }
            self.writeLast()
            for connection in Array(self.clients) {
                if let (record, descriptor) = connection.handOver() {
                    records.append(record)
                    descriptors.append(descriptor)
                }
            }
            let left = OutgoingConnections(
                record: HandOverRecord(
                    epoch: self.epoch.description,
                    seq: self.past.ring.head,
                    lastNumber: self.voters.lastNumber,
                    connections: records,
                    kept: self.voters.unattached,
                    session: session.map { HandOverRecord.Session($0) }
                ),
                descriptors: descriptors
            )
            self.sayGoodbye(.restart).map { left }.cascade(to: promise)
        }
        return promise.futureResult
    }

    /// Whether this process continues the epoch of the one that left the record.
    func isContinuing(_ handOver: HandOverRecord) -> Bool {
        handOver.epoch == self.epoch.description && handOver.seq <= self.past.ring.head
    }
}

/// Leaving a connection to the next process.
extension Connection {
    /// Whether the next process can have it: it is not on its way out.
    private var mayBeHandedOver: Bool {
        self.lifecycle.isListening && self.lifecycle.slot != .none && !self.output.isClosed
    }

    /// Queues what is left of its answers, for ``writeLast(until:)`` and ``handOver()``.
    func prepareHandOver() {
        guard self.mayBeHandedOver else { return }
        self.output.giveLateReply()
    }

    /// Takes the connection off its channel, to leave it to the next process.
    ///
    /// Nothing is read or written any more; the client notices nothing, since a duplicate of the
    /// socket stays open.
    ///
    /// - Returns: its record and the duplicate; nil if it is on its way out, or the descriptor
    ///   cannot be duplicated.
    func handOver() -> (record: HandOverRecord.Connection, descriptor: CInt)? {
        guard self.mayBeHandedOver, let (inode, copy) = self.output.duplicateSocket() else {
            return nil
        }
        var record = HandOverRecord.Connection(
            socket: inode,
            door: self.door,
            isOpen: self.lifecycle.slot == .served
        )
        record.program = self.peer.program
        record.input = Data(self.input.bytes)
        record.resyncs = self.watches.resyncs
        self.output.handOver(to: &record, index: self.watches.index)
        record.standing = self.watches.record() + self.waits.record() + self.voters.record()
        self.handedOver()
        return (record, copy)
    }
}

/// Going on where the last process left off.
extension Connection {
    /// Takes over what that process knew about the connection.
    ///
    /// - Parameters:
    ///   - record: what it recorded about the connection.
    ///   - handOver: its whole record.
    func resume(with record: HandOverRecord.Connection, of handOver: HandOverRecord) {
        self.input.received(ByteBuffer(bytes: record.input))
        self.watches.resume(afterResyncs: record.resyncs)
        for case .voter(let row) in record.standing {
            self.again(row.line) { request throws(WireError) in
                try self.voters.resume(row, asking: request)
            }
        }
        if self.server.isContinuing(handOver) {
            // The same epoch: watches resume at their cursors, and answers in their order.
            let watches = self.watches.resume(record.watches)
            self.output.resume(with: record, of: self.server.schema) {
                $0 < watches.count ? watches[$0] : nil
            }
        } else {
            self.beginAnew(after: record)
        }
        for case .wait(let row) in record.standing {
            self.again(row.line) { request throws(WireError) in
                try self.waits.resume(row, of: handOver.epoch, asking: request)
            }
        }
        self.output.resumeLine(of: record)
    }

    /// Starts over in a new epoch: answers that were ready go out, and watches are told.
    private func beginAnew(after record: HandOverRecord.Connection) {
        for segment in record.outbox {
            self.output.append(Array(segment.bytes), replies: segment.replies)
            if case .history(let run) = segment.mark { self.history.end(run) }
        }
        for row in record.watches { self.watches.beginAnew(row) }
    }

    /// Lets go of all that refers to changes of the present numbering, which is about to end; returns what is to be begun again.
    ///
    /// Answers that are ready go out.
    func leaveNumbering() -> [StandingRow] {
        self.output.leaveNumbering()
        let rows = self.watches.record() + self.waits.record()
        self.watches.drop()
        self.waits.drop()
        return rows
    }

    /// Begins again what was let go of, in another numbering than `former`.
    func begin(_ rows: [StandingRow], after former: Epoch) {
        for row in rows {
            switch row {
            case .watch(let row): self.watches.beginAnew(row)
            case .wait(let row):
                self.again(row.line) { request throws(WireError) in
                    try self.waits.resume(row, of: "\(former)", asking: request)
                }
            case .voter: break
            }
        }
        self.output.want()
    }

    /// Carries out again, without an answer, a request that the last process carried out.
    ///
    /// It was valid there. If it is not here, since the limits or the states have changed, the
    /// client is refused as if it had asked now.
    private func again(_ line: Data, _ body: (Request) throws(WireError) -> Void) {
        do {
            guard let request = try Request.parse(Array(line)) else { return }
            do {
                let schema = self.server.schema
                try body(Request(id: request.id, schema.resolved(request.call, isOld: true)))
            } catch {
                self.output.reply(ServerLine.refusal(id: request.id, error))
            }
        } catch {
            self.output.reply(ServerLine.refusal(id: error.id, error.error))
        }
    }
}

/// Whether all connections of the last process have come, and what waits for that.
///
/// Until then nothing is decided, since those that have yet to come may have holds and guards. Belongs to the
/// event loop.
final class Arrivals {
    /// What waits; nil once all are here.
    private var waiting: [() -> Void]?

    /// From here on connections of the last process come, one after the other.
    func begin() { self.waiting = [] }

    /// Runs `body` when all of them are here, which may be now.
    func whenAllAreHere(_ body: @escaping () -> Void) {
        if self.waiting == nil { body() } else { self.waiting?.append(body) }
    }

    /// All of them are here.
    func end() {
        let waiting = self.waiting.take() ?? []
        for body in waiting { body() }
    }
}
