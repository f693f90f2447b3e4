/// Whom a request may say that it is for, and from: a page of somebody else's, whose name was made to lead here, is
/// refused ("DNS rebinding").
package struct HostRule: Sendable {
    /// Names that a proxy or a hosts file leads here by, besides `localhost`.
    private let names: Set<String>
    /// Whether any name will do: behind a socket that no browser can reach.
    private let isOpen: Bool

    /// - Parameters:
    ///   - names: what is allowed besides `localhost` and addresses that are numbers.
    ///   - socket: where it is served.
    package init(names: [String], socket: ListenSocket) {
        self.names = Set(names.map { $0.lowercased() } + ["localhost"])
        self.isOpen = socket.isUnix && names.isEmpty
    }

    /// Why the request is refused, in a sentence; nil if it is not.
    func refusal(host: String?, origin: String?) -> String? {
        guard let host else { return "the request says no host" }
        guard self.isAllowed(host) else {
            return "the host \(host.excerpt) is none of this page's; --host allows another name"
        }
        guard let origin else { return nil }
        let isOwn = ["http://", "https://"].contains {
            origin.lowercased() == $0 + host.lowercased()
        }
        return isOwn ? nil : "the request comes from a page of \(origin.excerpt), another host's"
    }

    private func isAllowed(_ host: String) -> Bool {
        if self.isOpen { return true }
        var name = host.lowercased()
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return false }
            return ListenAddress.isNumber(String(name[name.index(after: name.startIndex)..<end]))
        }
        if let colon = name.lastIndex(of: ":") { name = String(name[..<colon]) }
        // To rebind takes a name.
        return self.names.contains(name) || ListenAddress.isNumber(name)
    }
}

extension String {
    /// Enough of it to be known again, in quotes.
    fileprivate var excerpt: String {
        let text = String(self.unicodeScalars.prefix(80))
        return "\"\(text == self ? text : text + "…")\""
    }
}
