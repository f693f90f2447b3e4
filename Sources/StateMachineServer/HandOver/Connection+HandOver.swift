import FoundationEssentials
import NIOCore
import StateMachineProtocol

/// Leaving a connection to the next process.
extension Connection {
    /// Takes the connection off its channel: nothing is read or written any more, and the client
    /// notices nothing, for a duplicate of the socket stays open.
    ///
    /// - Returns: what belongs to it, and the duplicate; nil if it is on its way out, or the descriptor
    ///   cannot be duplicated.
    func leaveBehind() -> (record: HandOverRecord.Connection, descriptor: CInt)? {
        guard self.lifecycle.isListening, self.isAdmitted, !self.outbox.isClosed else { return nil }
        self.waits.answerEnded(until: .max)
        self.pump(isUrgent: true)
        guard !self.outbox.isClosed, let (inode, copy) = self.outbox.duplicateSocket() else {
            return nil
        }
        let record = self.record(socket: inode)
        for watch in self.watches { watch.timer?.task.cancel() }
        self.lifecycle.leftBehind()
        self.channel.close(promise: nil)
        return (record, copy)
    }

    private func record(socket: UInt64) -> HandOverRecord.Connection {
        var record = HandOverRecord.Connection(socket: socket, door: self.door, isOpen: self.isOpen)
        record.input = Data(self.unhandledInput)
        self.outbox.handOver(to: &record, place: self.index)
        record.watches = self.watches.map(\.record)
        self.waits.handOver(to: &record)
        self.voters.handOver(to: &record)
        record.resyncs = self.resyncs
        return record
    }

    private func index(of watch: Watch) -> Int {
        self.watches.firstIndex { $0 === watch } ?? self.watches.endIndex
    }

    /// What the client has sent and was not dealt with.
    var unhandledInput: [UInt8] {
        (self.deferred.map { $0 + [UInt8(ascii: "\n")] } ?? []) + self.inbound.bytes
    }

    /// Puts that before what arrives.
    func takeInput(_ bytes: some Sequence<UInt8>) { self.inbound.append(ByteBuffer(bytes: bytes)) }
}

/// Going on where the last process left off.
extension Connection {
    /// Takes over what that process knew of the connection.
    ///
    /// - Parameters:
    ///   - record: what it left.
    ///   - handOver: the whole of what it left.
    func goOn(with record: HandOverRecord.Connection, of handOver: HandOverRecord) {
        let isContinued = self.server.isContinuing(handOver)
        self.resyncs = record.resyncs
        self.takeInput(record.input)
        for voter in record.holds + record.guards {
            self.again(voter.request) { request throws(WireError) in
                try self.voters.goOn(with: request, of: voter)
            }
        }
        if isContinued {
            self.goOnWithOutput(of: record)
        } else {
            self.beginAnew(after: record)
        }
        for wait in record.waits {
            self.again(wait.request) { request throws(WireError) in
                guard case .wait(var call) = request.call else { return }
                if wait.isJudged { call.since = "\(handOver.epoch):\(handOver.seq)" }
                call.timeoutMs = wait.leftMs
                try self.waits.begin(call, id: request.id, Array(wait.request))
            }
        }
        self.outbox.goOnWithLine(of: record)
        if self.outbox.isClosed { self.dropOutput() }
    }

    /// The same numbering: watches go on at their cursors, and answers in their order.
    private func goOnWithOutput(of record: HandOverRecord.Connection) {
        let watches = record.watches.map { Watch($0, head: self.server.ring.head) }
        self.watches = watches.compactMap(\.self)
        self.outbox.goOn(with: record) { $0 < watches.count ? watches[$0] : nil }
    }

    /// Another numbering: answers that were ready go out, and watches are told.
    private func beginAnew(after record: HandOverRecord.Connection) {
        if let run = record.history { self.end(run) }
        for segment in record.outbox {
            self.outbox.append(Array(segment.bytes), replies: segment.replies)
            if case .history(let run) = segment.mark { self.end(run) }
        }
        for watch in record.watches where !watch.isEnding {
            let (call, id) = watch.call ?? (WatchCall(), nil)
            self.begin(
                Watch(
                    call,
                    id: id,
                    from: .resync(.restarted, missed: nil),
                    head: self.server.ring.head,
                    request: watch.request.map { Array($0) } ?? [],
                    isImplicit: watch.request == nil
                )
            )
        }
    }

    /// Ends an answer to `history` whose numbering is gone.
    private func end(_ record: HandOverRecord.History) {
        guard let run = HistoryRun(record) else { return }
        run.resync = .restarted
        run.cursor = run.end
        self.outbox.append(self.server.summary(of: run), replies: 1)
    }

    /// Carries out again, without an answer, what a client asked the last process for.
    ///
    /// It was found good there. If it is not here, for the limits or the states are others, the client
    /// is told as if it had asked now.
    private func again(_ line: Data, _ body: (Request) throws(WireError) -> Void) {
        do {
            guard let request = try Request.parse(Array(line)) else { return }
            do {
                try body(request)
            } catch {
                self.outbox.reply(ServerLine.refusal(id: request.id, error))
            }
        } catch {
            self.outbox.reply(ServerLine.refusal(id: error.id, error.error))
        }
    }
}
