import Glibc
import StateMachineProtocol
import Systemd

/// Sorts what the service manager handed over: doors, what the last process stored, and the rest.
///
/// Decides only; touches no descriptor.
struct HandedSockets: Equatable {
    /// A door's listening socket.
    struct DoorHandle: Equatable {
        let descriptor: CInt
        let path: String
    }

    /// The store's names of a client's connection and of the memory with what belongs to each.
    static let connectionName = "connection"
    static let recordName = "handover"

    private(set) var doors: [Door: DoorHandle] = [:]

    /// From the store, unchecked.
    private(set) var connections: [CInt] = []
    private(set) var records: [CInt] = []

    /// Unknown descriptors that no socket unit can have meant: garbage in the store.
    private(set) var garbage: [HandedDescriptor] = []

    /// - Throws: `DaemonError` if a socket unit hands over something that cannot be a door.
    init(
        _ handed: [HandedDescriptor],
        kind: (CInt) -> DescriptorKind = { DescriptorKind(of: $0) }
    ) throws(DaemonError) {
        for item in handed {
            let kind = kind(item.descriptor)
            if let door = Door(rawValue: item.name) {
                guard case .listening(let path) = kind else {
                    throw Self.error("\(item.name) is \(kind)", handed)
                }
                guard self.doors[door] == nil else {
                    throw Self.error("two of them are called \(item.name)", handed)
                }
                self.doors[door] = DoorHandle(descriptor: item.descriptor, path: path)
            } else if item.name == Self.connectionName {
                self.connections.append(item.descriptor)
            } else if item.name == Self.recordName {
                self.records.append(item.descriptor)
            } else {
                switch kind {
                case .listening, .bound:
                    throw Self.error(
                        "\([item.name].quoted) is not one of the daemon's sockets",
                        handed
                    )
                case .connected, .loose, .noSocket, .closed:
                    self.garbage.append(item)
                }
            }
        }
    }

    private static func error(_ what: String, _ handed: [HandedDescriptor]) -> DaemonError {
        let names = handed.map(\.name).filter { $0 != Self.connectionName }
        return DaemonError(
            lasting: "the service manager handed over \(names.quoted), but \(what); correct the "
                + "socket units: each needs a listening Unix stream socket (ListenStream=/a/path) and "
                + "FileDescriptorName=control or FileDescriptorName=events"
        )
    }
}

extension [String] {
    fileprivate var quoted: String { self.map { "\"\($0)\"" }.joined(separator: ", ") }
}
