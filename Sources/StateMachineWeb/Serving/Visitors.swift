#if Web
import Glibc
import NIOCore
import Synchronization

/// The channels of those who are connected.
///
/// Guarded state: who they are, behind a lock; nothing is closed while it is held.
final class Visitors: Sendable {
    private let connections = Mutex(Connections<any Channel>())

    /// Takes a channel in until it is closed, and closes another for which there is no room then.
    func arrived(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let address = channel.remoteAddress.flatMap(ClientAddress.init)
        let leaving = self.connections.withLock { $0.add(id, channel, from: address) }
        leaving?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in
            _ = self.connections.withLock { $0.remove(id) }
        }
    }

    /// A request of that channel has come.
    func asked(_ channel: any Channel) {
        self.connections.withLock { $0.ask(ObjectIdentifier(channel)) }
    }

    /// Has the channel's request be one that takes long; returns why it may not be.
    func follow(_ channel: any Channel) -> TooManyFollow? {
        self.connections.withLock { $0.follow(ObjectIdentifier(channel)) }
    }

    /// The channel's request has been answered, or could not be.
    func answered(_ channel: any Channel) {
        self.connections.withLock { $0.rest(ObjectIdentifier(channel)) }
    }
}

extension ClientAddress {
    /// Nil for a socket in the file system, where nobody has an address.
    init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(v6: bytes)
        } else if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(v4: bytes[..<4].reduce(0) { $0 << 8 | UInt32($1) })
        } else {
            return nil
        }
    }
}
#endif
