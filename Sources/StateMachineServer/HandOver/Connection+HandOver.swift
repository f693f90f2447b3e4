import FoundationEssentials
import Glibc
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
        guard self.lifecycle.isListening, self.isAdmitted, !self.isOutputClosed else { return nil }
        self.answerWaits(until: .max)
        self.pump(isUrgent: true)
        var status = stat()
        guard !self.isOutputClosed, self.channel.isActive,
            fstat(self.writer.descriptor, &status) == 0
        else { return nil }
        // Past the numbers that the next program on this one's place expects to be free.
        let copy = fcntl(self.writer.descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        let record = self.record(socket: UInt64(status.st_ino))
        for wait in self.waits { wait.end() }
        for watch in self.watches { watch.timer?.task.cancel() }
        // What a hold keeps from happening is not to happen in the last moment.
        self.server.keep(self.holds + self.guards)
        self.holds = []
        self.guards = []
        self.lifecycle.leftBehind()
        self.channel.close(promise: nil)
        return (record, copy)
    }

    private func record(socket: UInt64) -> HandOverRecord.Connection {
        let unsent = self.unsentBytes
        return HandOverRecord.Connection(
            socket: socket,
            door: self.door,
            isOpen: self.isOpen,
            input: Data(self.unhandledInput),
            unsent: Data(unsent),
            unsentReplies: unsent.isEmpty ? 0 : self.unsent?.replies ?? 0,
            outbox: self.outbox.map { segment in
                HandOverRecord.Segment(
                    bytes: Data(segment.bytes),
                    replies: segment.replies,
                    mark: segment.mark.map { self.record(of: $0) }
                )
            },
            history: self.history?.record,
            watches: self.watches.map(\.record),
            waits: self.waits.map(\.record),
            holds: self.holds.map(\.record),
            guards: self.guards.map(\.record),
            resyncs: self.counts.resyncs,
            bytes: self.counts.bytes
        )
    }

    private func record(of mark: Segment.Mark) -> HandOverRecord.Segment.Mark {
        switch mark {
        case .start(let watch): .start(self.index(of: watch))
        case .end(let watch): .end(self.index(of: watch))
        case .history(let run): .history(run.record)
        }
    }

    private func index(of watch: Watch) -> Int {
        self.watches.firstIndex { $0 === watch } ?? self.watches.endIndex
    }

    /// What the client has sent and was not dealt with.
    var unhandledInput: [UInt8] {
        (self.kept.map { $0 + [UInt8(ascii: "\n")] } ?? []) + self.inbound.bytes
    }

    /// Puts that before what arrives.
    func takeInput(_ bytes: some Sequence<UInt8>) { self.inbound.append(ByteBuffer(bytes: bytes)) }

    /// What the channel has been given and not written.
    var unsentBytes: ByteBufferView {
        guard let unsent else { return ByteBufferView() }
        let left = self.channel.syncOptions.flatMap { options in
            // Refused only by a channel that is closed, whose bytes nobody reads.
            try? options.getOption(.bufferedWritableBytes)
        }
        return unsent.bytes.readableBytesView.suffix(left ?? 0)
    }
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
        self.counts = (record.resyncs, record.bytes)
        self.takeInput(record.input)
        for voter in record.holds {
            self.again(voter.request) { request throws(WireError) in
                guard case .hold(let call) = request.call else { return }
                try self.place(call, id: request.id, Array(voter.request), number: voter.number)
            }
        }
        for voter in record.guards {
            self.again(voter.request) { request throws(WireError) in
                guard case .guard(let call) = request.call else { return }
                try self.place(call, id: request.id, Array(voter.request), number: voter.number)
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
                try self.wait(call, id: request.id, Array(wait.request))
            }
        }
        if !record.unsent.isEmpty {
            self.repliesInFlight += record.unsentReplies
            _ = self.write(Array(record.unsent)[...], replies: record.unsentReplies)
        }
    }

    /// The same numbering: watches go on at their cursors, and answers in their order.
    private func goOnWithOutput(of record: HandOverRecord.Connection) {
        let watches = record.watches.map { Watch($0, head: self.server.ring.head) }
        self.watches = watches.compactMap(\.self)
        func watch(_ index: Int) -> Watch? { index < watches.count ? watches[index] : nil }
        for segment in record.outbox {
            var mark: Segment.Mark?
            switch segment.mark {
            case .start(let index): mark = watch(index).map { .start($0) }
            case .end(let index): mark = watch(index).map { .end($0) }
            case .history(let record):
                let run = HistoryRun(record)
                self.replyBytes += run?.request.count ?? 0
                mark = run.map { .history($0) }
            case nil: break
            }
            self.repliesInFlight += segment.replies
            self.replyBytes += segment.bytes.count
            self.outbox.append(
                Segment(bytes: Array(segment.bytes), replies: segment.replies, mark: mark)
            )
        }
        self.history = record.history.flatMap { HistoryRun($0) }
        self.replyBytes += self.history?.request.count ?? 0
    }

    /// Another numbering: answers that were ready go out, and watches are told.
    private func beginAnew(after record: HandOverRecord.Connection) {
        if let run = record.history { self.end(run) }
        for segment in record.outbox {
            self.append(Array(segment.bytes), replies: segment.replies)
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
        self.append(self.server.summary(of: run), replies: 1)
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
                self.reply(ServerLine.refusal(id: request.id, error))
            }
        } catch {
            self.reply(ServerLine.refusal(id: error.id, error.error))
        }
    }
}
