#if Cluster
import Glibc
import StateMachineCore

/// Where a member of the engine is: `https://HOST:PORT`.
package struct EtcdEndpoint: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int
    package let isEncrypted: Bool

    /// Reads it.
    ///
    /// - Parameters:
    ///   - text: it, as in the setting.
    ///   - isInsecure: whether others than this host's own may do without encryption.
    /// - Throws: a sentence about what is wrong with it.
    package init(_ text: String, isInsecure: Bool = false) throws(SettingError) {
        func wrong(_ what: String) -> SettingError {
            SettingError(
                "engine-endpoints: \"\(text.printable)\" \(what), as in https://etcd-1.example:2379"
            )
        }
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else {
            throw wrong("has to begin with https://")
        }
        var rest = text.dropFirst(scheme.count)
        if rest.last == "/" { rest = rest.dropLast() }
        guard let colon = rest.lastIndex(of: ":"),
            let port = Self.port(rest[rest.index(after: colon)...])
        else { throw wrong("has to end with a port from 1 to 65535") }
        var host = rest[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
            guard Self.isAddress(host) else {
                throw wrong("has to have an address between [ and ]")
            }
        } else {
            let characters = host.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            // A name begins with something else than what joins its parts.
            let begins = host.utf8.first.map { !".-".utf8.contains($0) } ?? false
            guard characters, begins, host.utf8.count <= 253, !host.contains("..") else {
                throw wrong("has to have a host's name or address")
            }
        }
        (self.host, self.port, self.isEncrypted) = (String(host), Int(port), scheme == "https://")
        guard self.isEncrypted || self.isLoopback || isInsecure else {
            throw SettingError(
                "engine-endpoints: \(text) is not encrypted, and not on this host; "
                    + "use https://, or set engine-insecure if nobody else can read this network"
            )
        }
    }

    /// Those of a setting, between commas.
    package static func list(
        _ text: String,
        isInsecure: Bool = false
    ) throws(SettingError) -> [EtcdEndpoint] {
        var endpoints: [EtcdEndpoint] = []
        for word in text.split(separator: ",") {
            let endpoint = try EtcdEndpoint(String(word.drop { $0 == " " }), isInsecure: isInsecure)
            if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        guard !endpoints.isEmpty else {
            throw SettingError("engine-endpoints: there is none in \"\(text.printable)\"")
        }
        return endpoints
    }

    package var description: String {
        "\(self.isEncrypted ? "https" : "http")://\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)"
    }

    /// Nil if it is an address: that is compared with the addresses in the certificate.
    var name: String? { Self.isAddress(self.host) ? nil : self.host }

    private var isLoopback: Bool {
        self.host == "localhost" || self.host == "::1"
            || self.host.hasPrefix("127.") && self.name == nil
    }

    private static func port(_ digits: Substring) -> UInt16? {
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits)
        else {
            return nil
        }
        return port == 0 ? nil : port
    }

    private static func isAddress(_ host: some StringProtocol) -> Bool {
        var (four, six) = (in_addr(), in6_addr())
        return inet_pton(AF_INET, String(host), &four) == 1
            || inet_pton(AF_INET6, String(host), &six) == 1
    }
}

/// A setting that is no good, in one sentence that says what to do.
package struct SettingError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
#endif
