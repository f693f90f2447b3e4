/// The keys of lines, shared by the code that writes lines and the code that reads them.
///
/// A key without a name here belongs to a single answer, which is read only by the code that prints
/// it; it is spelled out where it is written. Made of `StaticString`, which is copied into a line
/// as it is.
package struct LineKey: Sendable, ExpressibleByStringLiteral {
    let name: StaticString

    package init(stringLiteral name: StaticString) {
        self.name = name
    }

    // The line's kind, and what it answers.
    static var id: LineKey { "id" }
    static var ok: LineKey { "ok" }
    static var error: LineKey { "error" }
    static var offset: LineKey { "offset" }
    package static var message: LineKey { "message" }
    static var known: LineKey { "known" }
    static var may: LineKey { "may" }

    // A state, and how it came about.
    package static var seq: LineKey { "seq" }
    static var from: LineKey { "from" }
    package static var at: LineKey { "at" }
    package static var by: LineKey { "by" }
    package static var comm: LineKey { "comm" }
    package static var unit: LineKey { "unit" }
    /// Of a machine that several hosts share, where somebody is.
    package static var host: LineKey { "host" }
    package static var cause: LineKey { "cause" }
    static var forced: LineKey { "forced" }
    static var cursor: LineKey { "cursor" }

    // The declaration of the states, and the stay.
    package static var declaration: LineKey { "declaration" }
    package static var version: LineKey { "version" }

    static var stay: LineKey { "stay" }
    static var due: LineKey { "due" }
    package static var handled: LineKey { "handled" }
    package static var ageMs: LineKey { "ageMs" }
    package static var stayMs: LineKey { "stayMs" }
    package static var staleMs: LineKey { "staleMs" }

    // What keeps the machine from moving.
    package static var trouble: LineKey { "trouble" }
    package static var suspended: LineKey { "suspended" }
    package static var overdue: LineKey { "overdue" }
    package static var links: LineKey { "links" }

    // What a watch has lost or left out.
    static var replay: LineKey { "replay" }
    package static var resync: LineKey { "resync" }
    static var missed: LineKey { "missed" }
    static var selected: LineKey { "selected" }
    static var skipped: LineKey { "skipped" }

    // A question to a guard.
    static var ask: LineKey { "ask" }
    static var to: LineKey { "to" }
    package static var leftMs: LineKey { "leftMs" }

    // Keys of certain replies only.
    package static var changed: LineKey { "changed" }
    package static var matched: LineKey { "matched" }
    package static var hold: LineKey { "hold" }
    package static var `guard`: LineKey { "guard" }
    package static var link: LineKey { "link" }
    package static var required: LineKey { "required" }
    package static var missing: LineKey { "missing" }
    package static var named: LineKey { "as" }
    package static var away: LineKey { "away" }
    package static var count: LineKey { "count" }
    package static var more: LineKey { "more" }
    static var examined: LineKey { "examined" }
    static var of: LineKey { "of" }
    package static var problems: LineKey { "problems" }

    // A farewell.
    static var reason: LineKey { "reason" }
    package static var limit: LineKey { "limit" }
    package static var max: LineKey { "max" }
    package static var retryMs: LineKey { "retryMs" }
}
