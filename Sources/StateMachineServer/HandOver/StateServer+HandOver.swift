import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol
import Systemd

extension StateServer {
    /// Takes all connections off their channels, to be left with the service manager; those that are
    /// on their way out already are told to go.
    ///
    /// Sets that are not decided are refused, as at any end; nothing is decided any more.
    ///
    /// - Returns: what is to be left, once all others are gone.
    func leaveConnections() -> EventLoopFuture<OutgoingConnections> {
        self.loop.preconditionInEventLoop()
        let promise = self.loop.makePromise(of: OutgoingConnections.self)
        self.stopDeciding {
            var records: [HandOverRecord.Connection] = []
            var descriptors: [CInt] = []
            for connection in Array(self.clients) {
                if let (record, descriptor) = connection.leaveBehind() {
                    records.append(record)
                    descriptors.append(descriptor)
                }
            }
            let left = OutgoingConnections(
                record: HandOverRecord(
                    epoch: self.epoch,
                    seq: self.ring.head,
                    lastNumber: self.lastNumber,
                    connections: records,
                    required: self.requirements.left
                ),
                descriptors: descriptors
            )
            self.sayGoodbye(.restart).map { left }.cascade(to: promise)
        }
        return promise.futureResult
    }

    /// From here on connections of the last process come, one after the other.
    func beginArrivals() { self.arriving = [] }

    /// Has that done when all of them are here: before that nothing is decided, since those that have yet to
    /// come may have holds and guards.
    func whenAllArrived(_ body: @escaping () -> Void) {
        if self.arriving == nil { body() } else { self.arriving?.append(body) }
    }

    func endArrivals() {
        let waiting = self.arriving.take() ?? []
        for body in waiting { body() }
    }

    /// Whether this process goes on with the numbering of the one that left that.
    func isContinuing(_ handOver: HandOverRecord) -> Bool {
        handOver.epoch == self.epoch.description && handOver.seq <= self.ring.head
    }
}
