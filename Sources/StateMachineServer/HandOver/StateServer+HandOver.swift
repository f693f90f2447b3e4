import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol
import Systemd

extension StateServer {
    /// Takes all connections off their channels, to be left with the service manager.
    ///
    /// What there is no time to write is left to the next process.
    ///
    /// Those that are on their way out already are told to go. Undecided sets are refused, as at
    /// any end; nothing is decided any more.
    ///
    /// - Returns: the connections to be left, once all others are gone.
    func leaveConnections() -> EventLoopFuture<OutgoingConnections> {
        self.loop.preconditionInEventLoop()
        let promise = self.loop.makePromise(of: OutgoingConnections.self)
        self.stopDeciding {
            var records: [HandOverRecord.Connection] = []
            var descriptors: [CInt] = []
            for connection in self.clients { connection.prepareToBeLeft() }
            self.writeLast()
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
                    lastNumber: self.voters.lastNumber,
                    connections: records,
                    kept: self.kept.left
                ),
                descriptors: descriptors
            )
            self.sayGoodbye(.restart).map { left }.cascade(to: promise)
        }
        return promise.futureResult
    }

    /// Whether this process continues the epoch of the one that left the record.
    func isContinuing(_ handOver: HandOverRecord) -> Bool {
        handOver.epoch == self.epoch.description && handOver.seq <= self.ring.head
    }
}
