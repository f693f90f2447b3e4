import StateMachineClient
import StateMachineProtocol

/// The answer to a request, before it becomes HTTP.
enum Answer {
    /// The cursor of a state is its entity tag.
    case document(
        status: Int = 200,
        type: String = "application/json",
        body: String,
        cursor: String? = nil
    )
    /// The state is the one that the browser has.
    case unchanged(cursor: String)
    case stream(EventStream)

    /// More requests of that address wait, or read a stream, than may.
    static let tooMany = document(
        status: 429,
        type: "text/plain; charset=utf-8",
        body: "too many streams and waits of one address, \(StreamSlots.perAddress); close some\n"
    )

    /// A refusal with its reason: a sentence for people.
    static func refusal(_ status: Int, _ message: String) -> Answer {
        let body = JSONValue.object([JSONMember("message", .string(message))])
        return .document(status: status, body: body.description)
    }
}

/// What is asked for: the parts of a request that an answer depends on.
struct PageRequest: Sendable {
    /// The path without the query, its parts decoded.
    let path: [String]
    /// Seconds that the answer may wait for another state.
    var wait: String?
    /// `If-None-Match`.
    var tag: String?
    /// `Last-Event-ID`, or the query's `since`.
    var lastID: String?

    /// Whether the browser has the state of that cursor.
    ///
    /// Compares weakly, RFC 9110, 13.1.2, and without what a proxy that compresses adds, as in
    /// `"a4bc88eb:1-gzip"`.
    func has(_ cursor: String) -> Bool {
        guard let known = self.tag else { return false }
        return known.split(separator: ",").contains { part in
            var own = part.drop { $0 == " " }.prefix { $0 != " " }
            if own == "*" { return true }
            if own.hasPrefix("W/") { own = own.dropFirst(2) }
            return own.first == "\""
                && own.dropFirst().prefix { $0.isHexDigit || $0 == ":" } == cursor
        }
    }
}

extension Substring {
    /// The text with its percent-encoding decoded: RFC 3986, 2.1; anything else stays as it is.
    var percentDecoded: String {
        var (bytes, rest): ([UInt8], Self.UTF8View.SubSequence) = ([], self.utf8[...])
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(decoded)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
