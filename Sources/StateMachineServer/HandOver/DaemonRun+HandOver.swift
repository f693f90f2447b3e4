import Logging
import NIOCore
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
    func leaveConnections(of server: StateServer) async throws {
        let left = try await server.loop.flatSubmit { server.leaveConnections() }.get()
        // A history keeps the required guards, which belong to no connection.
        let isOfUse =
            !left.descriptors.isEmpty
            || self.machine.history == nil && left.record.kept?.isEmpty == false
        guard isOfUse else { return }
        let isStored = await self.manager.ask("connections", for: OutgoingConnections.timeout) {
            try left.store($0)
        }
        if isStored == true {
            left.close()
            self.logger.notice(
                "\(CataloguedMessage.handedOver.rawValue)",
                metadata: ["connections": "\(left.descriptors.count)"]
            )
        } else {
            await self.manager.tell("withdrawal") { try OutgoingConnections.withdraw($0) }
            left.sayGoodbye()
            self.logger.notice(
                "the service manager does not keep connections, clients were told to come back",
                metadata: ["connections": "\(left.descriptors.count)"]
            )
        }
    }
}
