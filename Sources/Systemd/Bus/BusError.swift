internal import Glibc

/// Something asked of the service manager has come to nothing.
package enum BusError: Error, Hashable, CustomStringConvertible {
    /// There is no connection, or it broke: whether the manager has done it is not known.
    case lost(CInt)
    /// The manager said no; its error's name, and its sentence.
    case refused(name: String, sentence: String)
    /// A message could not be made, or what came is not what should.
    case malformed(String)
    /// Whoever waited does so no more.
    case cancelled

    package var description: String {
        switch self {
        case .lost(let code): "no connection to systemd (\(String(cString: strerror(code))))"
        case .refused(_, let sentence): "systemd says: \(sentence)"
        case .malformed(let what): what
        case .cancelled: "nobody waits for it any more"
        }
    }

    /// Fails for what a function of sd-bus returns below zero while a message is made or read.
    static func check(_ result: CInt, _ what: @autoclosure () -> String) throws(BusError) {
        guard result >= 0 else {
            throw .malformed("\(what()) (\(String(cString: strerror(-result))))")
        }
    }
}
