/// How far the machines that a machine sees were followed in a stay: from there the next run goes on, and misses nothing and
/// repeats nothing.
package struct KeptLinks: Hashable, Sendable {
    /// The seq that began the stay.
    package let stay: UInt64
    /// The cursor of what was last seen of each, by the link's name; none: nothing was.
    package let cursors: [String: String]
    /// The keys of `when` that matched by then, as they are written.
    package let matched: [String]
    /// Those that have come to match, and have not happened yet, in that order.
    package let due: [String]

    package init(
        stay: UInt64,
        cursors: [String: String],
        matched: [String] = [],
        due: [String] = []
    ) {
        self.stay = stay
        self.cursors = cursors
        self.matched = matched
        self.due = due
    }
}

/// How far linked machines have been followed: shared by a history, which writes it down with each stay that begins, and a
/// server, which follows them.
package final class LinkCursors: Sendable {
    /// What the last run left; nil if nothing.
    package let left: KeptLinks?
    private let known: Lock<[String: String]>

    package init(after left: KeptLinks? = nil) {
        self.left = left
        self.known = Lock(left?.cursors ?? [:])
    }

    /// The cursors of those links that have one.
    package func of(_ links: some Sequence<String>) -> [String: String] {
        let links = Set(links)
        return self.known.withLock { $0.filter { links.contains($0.key) } }
    }

    package subscript(_ link: String) -> String? { self.known.withLock { $0[link] } }

    /// Notes the cursor of what was last seen of a link; nil: it names another machine now.
    package func note(_ cursor: String?, of link: String) {
        self.known.withLock { $0[link] = cursor }
    }
}
