import FoundationEssentials
import NIOCore
import StateMachineProtocol

// What each thing of a connection leaves, and how it is made of that again.

extension Watch {
    /// What is left of it, of which the client knows that declaration.
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

    /// The watch again, where it was; nil if the record makes no sense.
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
    /// What was asked for.
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
    /// What is left of it; `place` is where the next process finds a watch.
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
    /// The mark again, where `watch` is the one at a place in the record; nil if what it is about makes no sense.
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

    /// The answer again, where it was; nil if the record makes no sense.
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
    /// A request that was found good before; nil if it is not.
    init?(again line: some Sequence<UInt8>) {
        do {
            guard let request = try Request.parse(Array(line)) else { return nil }
            self = request
        } catch {
            return nil
        }
    }
}
