import Glibc

/// An executable of this package, built beside the tests or, to measure an optimized one, in the
/// directory that `STATEMACHINE_PRODUCTS` names.
package enum BuiltProduct: String, Sendable {
    case statemachine
    case statectl
    case runner = "statemachine-runner"
    case web = "statemachine-web"
    case cluster = "statemachine-cluster"

    package var path: String {
        get throws {
            if let products = getenv("STATEMACHINE_PRODUCTS") {
                return String(cString: products) + "/\(self.rawValue)"
            }
            return try Self.directory + "/\(self.rawValue)"
        }
    }

    /// The directory of the tests and of what was built with them.
    package static var directory: String {
        get throws {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/self/exe", &buffer, buffer.count)
            guard count > 0 else { throw TestFailure("cannot tell where the tests are") }
            let own = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
            return own.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        }
    }
}
