import Dispatch
import Glibc
import Synchronization

/// The service manager's end of sd_notify(3), held by a test, with a descriptor store.
///
/// It takes every message at once, as the manager does: a daemon would wait for one that does not.
///
/// Who waits for a message of a process that ends instead notices that at once.
///
/// `@unchecked Sendable`: `stored` and `followed` are guarded by their locks, nothing else changes
/// after `init`, and a dispatch source may be cancelled from anywhere.
package final class NotifySocket: @unchecked Sendable {
    private enum Event {
        case message(String)
        case end(of: pid_t)
    }

    package let path: String
    private let descriptor: CInt
    private let queue = DispatchQueue(label: "notify")
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let source: any DispatchSourceRead
    private let storeLimit: Int
    private let stored = Mutex<[Descriptor]>([])
    /// The process whose messages are waited for, and the lines that it has written.
    private let followed = Mutex<(pid: pid_t, said: @Sendable () -> String)?>(nil)
    /// All that has been waited for or skipped.
    private let past = Mutex<[String]>([])

    /// Under another name it plays another part, such as the journal's; `storeLimit` is the unit's
    /// `FileDescriptorStoreMax=`.
    package init(in directory: String, name: String = "notify", storeLimit: Int = 0) throws {
        self.path = "\(directory)/\(name)"
        // Left by an earlier one in the same directory.
        unlink(self.path)
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard UnixSocket.withAddress(self.path, { bind(descriptor, $0, $1) }) == 0 else {
            throw TestFailure("cannot bind \(self.path): errno \(errno)")
        }
        self.descriptor = descriptor
        self.storeLimit = storeLimit
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        self.continuation = continuation
        self.source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: self.queue)
        self.source.setEventHandler { [weak self] in _ = self?.take() }
        self.source.setCancelHandler {
            continuation.finish()
            close(descriptor)
        }
        self.source.activate()
    }

    deinit { self.source.cancel() }

    /// Has whoever waits for a message notice the end of this process, and what it has written.
    ///
    /// It replaces one that was followed before.
    func follow(_ pid: pid_t, said: @escaping @Sendable () -> String) {
        self.followed.withLock { $0 = (pid, said) }
    }

    /// Called when it has ended.
    func noteEnd(of pid: pid_t) {
        self.queue.async {
            // What it sent before comes first.
            while self.take() {}
            self.continuation.yield(.end(of: pid))
        }
    }

    /// Takes one message; false if there is none.
    private func take() -> Bool {
        guard let (message, descriptors) = receive(from: self.descriptor) else { return false }
        self.keep(descriptors, as: message)
        self.continuation.yield(.message(message))
        return true
    }

    /// Returns all messages up to and including the first that matches.
    private func all(until what: String, _ matches: (String) -> Bool) async throws -> [String] {
        var all: [String] = []
        for await event in self.events {
            switch event {
            case .message(let message):
                all.append(message)
                self.past.withLock { $0.append(message) }
                if matches(message) { return all }
            case .end(let pid):
                guard let (followed, said) = self.followed.withLock({ $0 }), followed == pid else {
                    continue
                }
                let lines = said().split(separator: "\n").suffix(10).joined(separator: "\n")
                throw TestFailure("process \(pid) ended before \(what) came:\n\(lines)")
            }
        }
        throw TestFailure("no \(what) came")
    }

    /// Waits for a message that begins like this, skipping others.
    @discardableResult
    package func wait(for prefix: String) async throws -> String {
        try await self.all(until: prefix) { $0.hasPrefix(prefix) }.last ?? ""
    }

    /// Waits for a message that contains this, skipping others.
    @discardableResult
    package func wait(containing text: String) async throws -> String {
        try await self.all(until: text).last ?? ""
    }

    /// As ``wait(containing:)``, unless one has come already, as a STATUS= may before READY=1.
    package func waitUnlessSeen(_ text: String) async throws {
        guard !self.past.withLock({ $0.contains { $0.contains(text) } }) else { return }
        try await self.wait(containing: text)
    }

    /// Waits for a message that contains this; returns all messages up to and including it.
    package func all(until text: String) async throws -> [String] {
        try await self.all(until: text) { $0.contains(text) }
    }

    /// The stored descriptors, as the manager hands them out at the next start.
    ///
    /// The store keeps them. Whatever was sent before has been taken.
    package var store: [Descriptor] {
        self.queue.sync { while self.take() {} }
        return self.stored.withLock { $0 }
    }

    /// Puts something into the store that did not come from a daemon.
    package func store(_ descriptor: Descriptor) { self.stored.withLock { $0.append(descriptor) } }

    private func keep(_ descriptors: [Descriptor], as message: String) {
        let lines = message.split(separator: "\n")
        let name = lines.first { $0.hasPrefix("FDNAME=") }.map { String($0.dropFirst(7)) }
        self.stored.withLock { stored in
            if lines.contains("FDSTORE=1") {
                for descriptor in descriptors where stored.count < self.storeLimit {
                    descriptor.name = name ?? "stored"
                    stored.append(descriptor)
                }
            }
            if lines.contains("FDSTOREREMOVE=1") { stored.removeAll { $0.name == name } }
        }
        // What was not kept is closed, which is all that the sender of a BARRIER=1 waits for.
    }
}

/// An open descriptor, closed with the last reference to it.
///
/// `@unchecked Sendable`: it is named once, before others see it.
package final class Descriptor: @unchecked Sendable {
    package let number: CInt
    package fileprivate(set) var name: String

    package init(_ number: CInt, name: String) {
        self.number = number
        self.name = name
    }

    deinit { close(self.number) }
}

/// A datagram and the descriptors that came with it: SCM_RIGHTS of unix(7).
private func receive(from socket: CInt) -> (message: String, descriptors: [Descriptor])? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    // Room for a header and a few descriptors; sd_notify(3) sends one at a time.
    var control = [UInt64](repeating: 0, count: 32)
    var header = msghdr()
    let count = bytes.withUnsafeMutableBytes { bytes in
        control.withUnsafeMutableBytes { control in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return withUnsafeMutablePointer(to: &vector) { vector in
                header.msg_iov = vector
                header.msg_iovlen = 1
                header.msg_control = control.baseAddress
                header.msg_controllen = control.count
                return recvmsg(socket, &header, CInt(MSG_DONTWAIT) | CInt(MSG_CMSG_CLOEXEC))
            }
        }
    }
    guard count >= 0 else { return nil }
    let descriptors = control.withUnsafeBytes { control -> [Descriptor] in
        let headerSize = MemoryLayout<cmsghdr>.size
        guard header.msg_controllen >= headerSize else { return [] }
        let first = control.load(as: cmsghdr.self)
        guard first.cmsg_level == SOL_SOCKET, first.cmsg_type == CInt(SCM_RIGHTS) else { return [] }
        let length = Int(first.cmsg_len) - headerSize
        return (0..<length / MemoryLayout<CInt>.size).map { index in
            let offset = headerSize + index * MemoryLayout<CInt>.size
            return Descriptor(control.load(fromByteOffset: offset, as: CInt.self), name: "")
        }
    }
    return (String(decoding: bytes[..<count], as: UTF8.self), descriptors)
}
