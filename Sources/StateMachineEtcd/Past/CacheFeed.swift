#if Cluster
import StateMachineCore
import StateMachineProtocol

/// Gives what this host has come to, in its order, to what it keeps on its disk.
///
/// Belongs to the event loop.
struct CacheFeed {
    private let cache: any SharedCache
    private let form: SharedForm
    /// What the last change led to; nil while that is not known.
    private var last: RecordedTransition.State?
    private var changes: [RecordedTransition] = []
    /// Those of the present stay, if they are not what was passed on.
    private var times: StayTimes?

    init(_ cache: any SharedCache, in form: SharedForm) {
        (self.cache, self.form, self.last) = (cache, form, cache.left?.newest.new)
    }

    /// The machine is there, by changes that this host does not know; `value` is what it makes of the state.
    mutating func arrived(at head: Head, as value: Value?, knowing memory: Restoration.Memory) {
        let newest = self.form.recorded(head.last, head.seq, as: value, leaving: nil)
        self.last = newest.new
        (self.changes, self.times) = ([], nil)
        self.cache.begin(
            at: SharedPosition(newest, in: head.epoch, knowing: memory.engine, head.last.times)
        )
    }

    /// A change was made; `value` is what this host makes of the state.
    mutating func came(_ change: SharedChange, _ seq: UInt64, as value: Value?) {
        let recorded = self.form.recorded(change, seq, as: value, leaving: self.last)
        self.last = recorded.new
        self.changes.append(recorded)
        self.times = change.times
    }

    /// More is known of the times of the stay that it is in.
    mutating func renewed(_ last: SharedChange) { self.times = last.times }

    /// Passes on what has gathered, with what the engine is known by now.
    mutating func flush(knowing memory: Restoration.Memory?) {
        guard !self.changes.isEmpty || self.times != nil, let memory else { return }
        self.cache.append(
            exchange(&self.changes, with: []),
            knowing: memory.engine,
            self.times.take()
        )
    }

    /// Passes on what the engine is known by: nothing comes any more.
    func end(knowing memory: Restoration.Memory?) {
        if let memory { self.cache.append([], knowing: memory.engine, nil) }
    }
}

extension Restoration.Memory {
    /// What was known when the host was there.
    init(_ position: SharedPosition) {
        let engine = position.engine
        self.init(
            position.epoch,
            after: engine.earlier,
            seq: position.newest.seq,
            revision: engine.revision,
            block: engine.block.map { Restoration.Mark(first: $0.first, digest: $0.digest) }
        )
        self.head = engine.head
    }

    /// As it is kept.
    fileprivate var engine: KnownEngine {
        KnownEngine(
            after: self.earlier,
            revision: self.revision,
            head: self.head,
            block: self.block.map { KnownEngine.Block(first: $0.first, digest: $0.digest) }
        )
    }
}
#endif
