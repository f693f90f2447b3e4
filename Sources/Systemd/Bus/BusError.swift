internal import Glibc

/// A request to the service manager failed.
package enum BusError: Error, Hashable, CustomStringConvertible {
    /// There is no connection, or it broke: whether the manager has carried it out is unknown.
    case lost(CInt)
    /// The manager refused; its error's name and message.
    case refused(name: String, sentence: String)
    /// A message could not be built, or what came is not as expected.
    case malformed(String)
    /// The waiting caller has given up.
    case cancelled

    package var description: String {
        switch self {
        case .lost(let code): "no connection to systemd (\(String(cString: strerror(code))))"
        case .refused(_, let sentence): "systemd says: \(sentence)"
        case .malformed(let what): what
        case .cancelled: "nobody waits for it any more"
        }
    }

    /// Throws if a function of sd-bus returned less than zero while a message was built or read.
    static func check(_ result: CInt, _ what: @autoclosure () -> String) throws(BusError) {
        guard result >= 0 else {
            throw .malformed("\(what()) (\(String(cString: strerror(-result))))")
        }
    }
}
