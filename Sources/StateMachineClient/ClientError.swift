import Glibc
public import StateMachineProtocol

/// Why a daemon could not be asked, or did not do what it was asked.
///
/// `description` is one sentence for people; it says what to do, where something can be done.
public enum ClientError: Error, Hashable, Sendable {
    /// None of the directories that were tried has a door in it.
    case notFound(tried: [String])
    /// No instance of that name has a socket in the directories that were tried; `known` have one.
    case noInstance(String, tried: [String], known: [String])
    /// Nobody answers on the socket; `reason` is the system's word for it.
    case unreachable(path: String, reason: String)
    /// The daemon does not keep up with those who want to connect.
    case crowded(path: String)
    /// The socket's path does not fit into an address.
    case pathTooLong(String)
    /// This user may not open the socket.
    case notPermitted(path: String)
    /// Something took the connection and then said nothing for that long.
    case silent(path: String, Duration)
    /// A wait's timeout passed, and the daemon said nothing or was not there.
    case timedOut(path: String, after: Duration)
    /// What answers does not speak the protocol.
    case malformed(path: String, String)
    /// What answers sent a line longer than `limit` bytes, the longest that is read.
    case lineTooLong(path: String, limit: Int)
    /// The connection ended without a farewell.
    case lost(path: String)
    /// The daemon closed the connection and said why, in a line of the kind ``Line/Kind/bye``.
    case dismissed(Line)
    /// The connection was lost, and could not be made again for that long.
    case lostForGood(path: String, after: Duration)
    /// The daemon answered, and the answer is no.
    case refused(Line)
}

extension ClientError {
    /// What a failed `connect(2)` means.
    init(connecting path: String, errnoCode: CInt) {
        switch errnoCode {
        case EACCES, EPERM:
            self = .notPermitted(path: path)
        case ECONNREFUSED:
            self = .unreachable(path: path, reason: "connection refused")
        case ENOENT, ENOTDIR:
            self = .unreachable(path: path, reason: "no such socket")
        case EAGAIN:
            self = .crowded(path: path)
        case ENAMETOOLONG:
            self = .pathTooLong(path)
        default:
            self = .unreachable(path: path, reason: "error \(errnoCode)")
        }
    }
}

extension ClientError: CustomStringConvertible {
    /// The sentence.
    public var description: String {
        switch self {
        case .notFound(let tried):
            "no daemon found (looked for \(tried.joined(separator: " and "))); "
                + "is the service running? systemctl status statemachine; for another directory, "
                + "give --runtime-directory or set $\(RuntimeDirectory.variable)"
        case .noInstance(let name, _, _) where name.contains("*"):
            "there is no machine \(name.quoted); name each one, or give --all"
        case .noInstance(let name, let tried, let known):
            "there is no machine \(name.quoted) (looked for \(tried.joined(separator: " and "))); "
                + Self.remedy(name, known)
        case .unreachable(let path, let reason):
            "no daemon answers on \(path) (\(reason)); "
                + "is the service running? systemctl status statemachine"
        case .crowded(let path):
            "too many clients are connecting to \(path) at once; try again"
        case .pathTooLong(let path):
            "the socket path \(path) is longer than the \(SocketPath.limit) bytes that Linux allows; "
                + "use a shorter runtime directory"
        case .notPermitted(let path):
            "permission denied on \(path); only the socket's owner and group may open it (ls -l \(path)); "
                + "have root add you to that group with adduser, and log in again"
        case .silent(let path, let duration):
            "the daemon on \(path) accepted the connection but has not answered for \(duration.inWords); "
                + "is it stopped? systemctl status statemachine"
        case .timedOut(let path, let duration):
            "the daemon on \(path) has not answered within the timeout of \(duration.inWords); "
                + "is it stopped? systemctl status statemachine"
        case .malformed(let path, let what):
            "what answers on \(path) is not a statemachine daemon: \(what)"
        case .lineTooLong(let path, let limit):
            "what answers on \(path) sent a line longer than \(limit >> 20) MiB, "
                + "the longest that is allowed"
        case .lost(let path):
            "the connection to \(path) was lost"
        case .dismissed(let line):
            line.farewell
        case .lostForGood(let path, let duration):
            "the connection to \(path) was lost, and reconnecting failed for \(duration.inWords)"
        case .refused(let line):
            line.message ?? "the daemon refused: \(line.text)"
        }
    }
}

extension ClientError {
    /// How many machines a message lists: few enough to be read at a glance.
    private static let listed = 8

    /// What to do where a machine of that name is not found, and these are.
    private static func remedy(_ name: String, _ known: [String]) -> String {
        if let nearest = NearestName.of(name, among: known) { return "did you mean \(nearest)?" }
        guard !known.isEmpty else { return "is it running? systemctl status statemachine@\(name)" }
        let rest = known.count - self.listed
        return "known: \(known.prefix(self.listed).joined(separator: ", "))"
            + (rest > 0 ? " and \(rest) more: statectl machines" : "")
    }
}

extension Duration {
    /// Seconds to a tenth: `2.5 s`.
    fileprivate var inWords: String {
        let tenths = self / .milliseconds(100)
        let rounded = tenths.rounded() / 10
        return rounded == rounded.rounded() ? "\(Int64(rounded)) s" : "\(rounded) s"
    }
}

extension Line {
    /// What a `bye` line says, as a sentence.
    fileprivate var farewell: String {
        switch self.reason.flatMap({ ServerLine.ByeReason(rawValue: $0) }) {
        case .restart: "the daemon is restarting"
        case .shutdown: "the daemon is shutting down"
        case .limit:
            "the daemon has reached its limit of \(self[.max]?.description ?? "?") "
                + "(\(self[.limit]?.string ?? "connections")); try again later"
        case .session:
            "this host has lost its session with the engine, and all that the connection held"
        case .refused: "the daemon cannot start: \(self.message ?? "no reason given")"
        case .tooLong, nil:
            "the daemon closed the connection (\(self.reason ?? "no reason given"))"
        }
    }
}
