import FoundationEssentials
import NIOCore
import StateMachineProtocol

// How each part of a connection is recorded, and restored from its record.

extension Watch {
    /// Its record, with the declaration that the client knows.
    func record(knowing declaration: String?) -> HandOverRecord.Watch {
        HandOverRecord.Watch(
            request: self.isImplicit ? nil : Data(self.request),
            phase: self.phase,
            isToReplay: self.isToReplay,
            isEnding: self.isEnding,
            cursor: self.cursor,
            reported: self.reported,
            declaration: declaration
        )
    }

    /// Restores the watch where it was; nil if the record makes no sense.
    convenience init?(
        _ record: HandOverRecord.Watch,
        of schema: StateSchema,
        head: UInt64,
        declarations: Int
    ) {
        let asked = record.call(schema)
        guard record.cursor <= head, record.reported <= head,
            record.request == nil || asked != nil
        else { return nil }
        let (call, id) = asked ?? (WatchCall(), nil)
        self.init(
            call,
            id: id,
            from: record.isToReplay ? .replay(after: record.cursor) : nil,
            head: record.cursor,
            declarations: declarations,
            request: record.request.map { Array($0) } ?? [],
            isImplicit: record.request == nil
        )
        self.resume(in: record.phase, reported: record.reported, head: head)
        self.isEnding = record.isEnding
    }
}

extension HandOverRecord.Watch {
    /// The request for the watch; nil if it cannot be read.
    func call(_ schema: StateSchema) -> (WatchCall, RequestID?)? {
        guard let line = self.request, let request = Request(again: line),
            case .watch(let call) = schema.resolvedAgain(request.call)
        else { return nil }
        return (call, request.id)
    }
}

extension PendingWait {
    var record: HandOverRecord.Wait {
        HandOverRecord.Wait(
            request: Data(self.request),
            isJudged: self.resync == nil && !self.isSearching,
            leftMs: self.deadline.map { deadline in
                UInt64(max((deadline - .now()).nanoseconds / 1_000_000, 1))
            }
        )
    }
}

extension SocketVoter {
    var record: HandOverRecord.Voter {
        HandOverRecord.Voter(
            number: self.number,
            request: Data(self.request),
            since: self.since
        )
    }
}

extension LineQueue.Segment {
    /// Its record; `place` gives a watch's position there.
    func record(place: (Watch) -> Int) -> HandOverRecord.Segment {
        let mark: HandOverRecord.Segment.Mark? =
            switch self.mark {
            case .start(let watch): .start(place(watch))
            case .end(let watch): .end(place(watch))
            case .history(let run): .history(run.record)
            case nil: nil
            }
        return HandOverRecord.Segment(
            bytes: Data(self.bytes),
            replies: self.replies,
            mark: mark
        )
    }
}

extension LineQueue.Mark {
    /// Restores the mark, nil if its record makes no sense; `watch` gives the watch at a position.
    init?(
        _ record: HandOverRecord.Segment.Mark,
        of schema: StateSchema,
        watch: (Int) -> Watch?
    ) {
        let mark: Self? =
            switch record {
            case .start(let place): watch(place).map { .start($0) }
            case .end(let place): watch(place).map { .end($0) }
            case .history(let history): HistoryRun(history, of: schema).map { .history($0) }
            }
        guard let mark else { return nil }
        self = mark
    }
}

extension HistoryRun {
    var record: HandOverRecord.History {
        HandOverRecord.History(
            request: Data(self.request),
            cursor: self.cursor,
            end: self.end,
            count: self.count,
            resync: self.resync
        )
    }

    /// Restores the answer where it was; nil if the record makes no sense.
    convenience init?(_ record: HandOverRecord.History, of schema: StateSchema) {
        guard let request = Request(again: record.request),
            case .history(let call) = schema.resolvedAgain(request.call),
            record.cursor <= record.end, record.count <= call.most
        else { return nil }
        self.init(
            call,
            id: request.id,
            after: record.cursor,
            through: record.end,
            resync: record.resync,
            request: Array(record.request)
        )
        self.sent(Int(record.count))
    }
}

extension Request {
    /// A request that was valid before; nil if it no longer is.
    init?(again line: some Sequence<UInt8>) {
        do {
            guard let request = try Request.parse(Array(line)) else { return nil }
            self = request
        } catch {
            return nil
        }
    }
}
