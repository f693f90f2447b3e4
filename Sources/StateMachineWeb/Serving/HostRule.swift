import StateMachineProtocol

/// The hosts and origins that a request may name: a request from somebody else's page, whose name
/// was made to lead here, is refused ("DNS rebinding").
package struct HostRule: Sendable {
    /// Names besides `localhost` that a proxy or a hosts file uses for this page.
    private let names: Set<String>
    /// Whether any name will do: behind a socket that no browser can reach.
    private let isOpen: Bool

    /// - Parameters:
    ///   - names: what is allowed besides `localhost` and numeric addresses.
    ///   - socket: where it is served.
    package init(names: [String], socket: ListenSocket) {
        self.names = Set(names.map { $0.lowercased() } + ["localhost"])
        self.isOpen = socket.isUnix && names.isEmpty
    }

    /// Judges a request.
    ///
    /// - Parameters:
    ///   - host: the host that is asked; nil if there is none, or are several.
    ///   - origin: whose page asks, as browsers say where its scripts do.
    ///   - site: how far that page is from this one, as browsers say of all that they ask (`Sec-Fetch-Site`).
    ///   - mode: what for (`Sec-Fetch-Mode`).
    /// - Returns: why it is refused, in a sentence; nil if it is not.
    func refusal(host: String?, origin: String?, site: String?, mode: String?) -> String? {
        guard let host else { return "the request names no host, or several" }
        guard self.isAllowed(host) else {
            return
                "the host \"\(host.excerpt(80))\" is not allowed; start the page with --host to allow another name"
        }
        guard let origin else {
            // Somebody may follow a link.
            guard site == "cross-site", mode != "navigate" else { return nil }
            return "the request comes from a page of another site"
        }
        let isOwn = ["http://", "https://"].contains {
            origin.lowercased() == $0 + host.lowercased()
        }
        guard !isOwn else { return nil }
        return "the request comes from a page of another host, \"\(origin.excerpt(80))\""
    }

    /// Whether the text is empty, or a port with its colon.
    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty
            || text.first == ":" && text.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    private func isAllowed(_ host: String) -> Bool {
        if self.isOpen { return true }
        let host = host.lowercased()
        guard host.hasPrefix("[") else {
            let name = host.prefix { $0 != ":" }
            // Rebinding takes a name, so numeric addresses are allowed.
            return Self.isPort(host[name.endIndex...])
                && (self.names.contains(String(name)) || ListenAddress.isNumber(String(name)))
        }
        guard let end = host.firstIndex(of: "]") else { return false }
        return Self.isPort(host[host.index(after: end)...])
            && ListenAddress.isNumber(String(host[host.index(after: host.startIndex)..<end]))
    }
}
