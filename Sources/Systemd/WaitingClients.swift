internal import Dispatch
internal import Glibc

/// Those who wait at sockets that the service manager handed over to a process that does not serve.
///
/// The manager starts a service for whoever waits at its socket. A process that ends without
/// accepting them is started again at once, for the same client, until the manager gives up on the
/// service and on its sockets.
package enum WaitingClients {
    /// How long clients are accepted once one has been waiting.
    ///
    /// 1 s: a client that comes back at once then starts the service once a second, and not as often
    /// as the process can be started. Picked.
    private static let time = Duration.seconds(1)

    /// Accepts all who wait, and tells each in `farewell` why nobody serves it.
    ///
    /// If nobody waits it returns at once; otherwise it goes on for a second, with those who come
    /// meanwhile. Blocks a thread for that long.
    package static func dismiss(_ handed: [HandedDescriptor], with farewell: [UInt8]) async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "statemachine.dismissal").async {
                self.dismissAndWait(handed, with: farewell)
                continuation.resume()
            }
        }
    }

    /// The same on the thread that calls.
    package static func dismissAndWait(_ handed: [HandedDescriptor], with farewell: [UInt8]) {
        let sockets = handed.map(\.descriptor).filter {
            DescriptorKind.option(SO_ACCEPTCONN, of: $0) == 1
        }
        guard !sockets.isEmpty else { return }
        // Closed at the end: whoever is still writing its request would see an error instead of the
        // farewell.
        var clients: [CInt] = []
        defer { for client in clients { close(client) } }
        for socket in sockets {
            // One may go between poll and accept.
            _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        }
        var waiting = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let clock = ContinuousClock()
        let end = clock.now + self.time
        while true {
            let left = clients.isEmpty ? .zero : max(end - clock.now, .zero)
            let count = poll(&waiting, nfds_t(waiting.count), CInt(left / .milliseconds(1)))
            guard count > 0 || count < 0 && errno == EINTR else { return }
            for socket in waiting where socket.revents != 0 {
                let client = accept(socket.fd, nil, nil)
                if client >= 0 {
                    self.tell(client, farewell)
                    clients.append(client)
                } else if errno == EMFILE || errno == ENFILE, !clients.isEmpty {
                    for client in clients { close(client) }
                    clients = []
                } else if errno != EAGAIN, errno != ECONNABORTED, errno != EINTR {
                    return
                }
            }
            if clock.now >= end { return }
        }
    }

    private static func tell(_ client: CInt, _ farewell: [UInt8]) {
        // What it has asked is not read by anybody; closing with it unread would look like an error.
        var asked = [UInt8](repeating: 0, count: 65_536)
        _ = recv(client, &asked, asked.count, CInt(MSG_DONTWAIT))
        _ = send(client, farewell, farewell.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        shutdown(client, CInt(SHUT_WR))
    }
}
