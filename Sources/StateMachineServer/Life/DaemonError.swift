public import Glibc
package import Logging
import ServiceLog
import StateMachineProtocol
package import Systemd

/// Why the daemon does not start, in one sentence that says what to do.
public struct DaemonError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// The status that the process should exit with.
    ///
    /// 78 (`EX_CONFIG` of sysexits.h) if it would fail the same way again until somebody changes how it
    /// is set up, so that a unit can say `RestartPreventExitStatus=78`; else 1.
    public let exitStatus: Int32

    /// The error number of the system call that failed, if one did.
    let errno: CInt?

    /// An error with that sentence, for a program that exits with that status.
    public init(_ description: String, exitStatus: Int32 = EXIT_FAILURE) {
        self.init(description, exitStatus: exitStatus, errno: nil)
    }

    private init(_ description: String, exitStatus: CInt, errno: CInt?) {
        self.description = description
        self.exitStatus = exitStatus
        self.errno = errno
    }

    /// An error with that sentence, which already includes `errno` if a system call failed.
    ///
    /// - Parameters:
    ///   - description: the sentence.
    ///   - isLasting: whether a person has to do something; the error number can say that too.
    ///   - errno: the error number, if there is one.
    package init(_ description: String, isLasting: Bool, errno: CInt?) {
        let isLasting = isLasting || errno.map { SystemError.isLasting($0) } ?? false
        self.init(description, exitStatus: isLasting ? EX_CONFIG : EXIT_FAILURE, errno: errno)
    }

    /// What no other start can mend, as a person has to do what the sentence says.
    init(lasting description: String) {
        self.init(description, isLasting: true, errno: nil)
    }

    /// A system call that failed, with the words for its error number.
    init(cannot action: String, errno code: CInt) {
        let text = SystemError.text(of: code)
        self.init("cannot \(action): \(text)", isLasting: false, errno: code)
    }

    /// Whether the manager does not start the service again (`RestartPreventExitStatus=`).
    private var isLasting: Bool { self.exitStatus == EX_CONFIG || self.exitStatus == EX_USAGE }

    /// Tells the service manager, so that `systemctl status` shows the sentence, and those who wait
    /// at the sockets that it handed over, if nobody is going to serve them.
    ///
    /// Waits for the manager to take it, but not for ever.
    ///
    /// - Parameters:
    ///   - logger: gets a warning if the manager cannot be told.
    ///   - handed: what the manager handed over.
    package func tell(
        _ logger: Logger = .service(label: "statemachine", threshold: LogThreshold(.info)),
        at handed: [HandedDescriptor] = HandedDescriptor.takeAll()
    ) async {
        await ServiceManager(logger: logger).tell("failed") { notifier in
            try notifier.failed(self.description, errno: self.errno, exitStatus: self.exitStatus)
        }
        // After any other end the manager starts the service again, and they wait for that.
        guard self.isLasting else { return }
        await WaitingClients.dismiss(handed, with: Self.farewell(self.description))
    }

    /// What those who wait at the sockets are told if nobody is going to serve them.
    package static func farewell(_ why: String) -> [UInt8] {
        ServerLine.bye(.refused) { writer in
            writer.string(.message, why)
            writer.number(.retryMs, ServerLimits.refusedRetryMs)
        }
    }
}

/// What an error number means.
enum SystemError {
    /// Whether the call fails until a person changes a path, a permission or a mount; another lack,
    /// of memory, room or descriptors, can end by itself.
    static func isLasting(_ code: CInt) -> Bool {
        let lasting = [
            EACCES, EPERM, ENOENT, ENOTDIR, EISDIR, EEXIST, ELOOP, ENAMETOOLONG, EROFS,
        ]
        return lasting.contains(code)
    }

    /// The words for it.
    static func text(of code: CInt) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else {
                return "error \(code)"
            }
            return String(cString: base)
        }
    }
}
