#if Cluster
/// What has become of a call.
///
/// The difference between what was surely not done and what may have been done is the point: after the latter nothing may
/// be sent that relies on either.
package enum Outcome<Answer: Sendable>: Sendable {
    case answered(Answer)
    /// It has not been done, nor will it be.
    case refused(Refusal)
    /// It may have been done, or may still be.
    case unknown(Doubt)
}

/// Why something was surely not done.
package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// It was never sent, or the engine says that it has not looked at it.
        case notSent
        case noLeader
        case permission
        case tooLarge
        case tooManyRequests
        /// Its lease has ended.
        case leaseGone
        /// A revision was asked for that is no longer there.
        case compacted
        /// The engine has no such call, or does not take it like this.
        case invalid
    }

    package let kind: Kind
    /// One sentence, which says what to do.
    package let description: String
}

/// Why it is not known what has become of a call.
package enum Doubt: Error, Hashable, Sendable, CustomStringConvertible {
    /// There was no answer in that time.
    case late(Duration)
    /// The connection or the call ended before the answer.
    case lost(String)
    /// What came is not what etcd sends.
    case malformed(String)
    /// The engine is full. It has applied the call, or never will: a quorum read begun after this shows which.
    ///
    /// It looks at its space twice: before it proposes, where nothing happens, and again when it applies, where it does what it was
    /// asked for and answers the same.
    case full
    /// The engine says that it failed, which does not say what happened.
    case failed(Int, String)

    package var description: String {
        switch self {
        case .late(let limit): "the engine has not answered within \(limit)"
        case .lost(let why): "the engine's answer was lost: \(why)"
        case .malformed(let what): "what answers is not etcd, or is broken: \(what)"
        case .full:
            "the engine is full; compact and defragment it, or raise --quota-backend-bytes, then etcdctl alarm disarm"
        case .failed(let code, let text): "the engine says \"\(text)\" (gRPC status \(code))"
        }
    }
}

extension Refusal {
    /// How texts of etcd begin after which it surely has done nothing, and what to do; etcd tells them apart by text alone, and several have one
    /// code.
    ///
    /// From its `rpctypes/error.go` and grpc-go's `server.go`. What is not here may have been done.
    private static let sure: [(text: String, kind: Kind, advice: String)] = [
        (
            "etcdserver: no leader", .noLeader,
            "are most of its members running, and do they reach each other?"
        ),
        (
            "etcdserver: permission denied", .permission,
            "grant the role of the certificate's common name readwrite on the machine's prefix"
        ),
        (
            "etcdserver: user name is empty", .permission,
            "it has users; set engine-certificate, to one whose common name is a user of its"
        ),
        (
            "etcdserver: user name not found", .permission,
            "add the common name of engine-certificate as a user: etcdctl user add"
        ),
        (
            "etcdserver: invalid auth token", .permission,
            "set engine-certificate, to one whose common name is a user of its"
        ),
        ("etcdserver: request is too large", .tooLarge, "fewer or smaller changes fit at once"),
        ("etcdserver: too many operations in txn request", .tooLarge, "fewer changes fit at once"),
        (
            "grpc: received message larger than max", .tooLarge,
            "fewer or smaller changes fit at once"
        ),
        (
            "etcdserver: too many requests", .tooManyRequests,
            "its disk is too slow for what it is asked for; try again later"
        ),
        ("etcdserver: requested lease not found", .leaseGone, "the session has ended"),
        (
            "etcdserver: mvcc: required revision has been compacted", .compacted,
            "read what is there now"
        ),
        (
            "etcdserver: mvcc: required revision is a future revision", .invalid,
            "was an older snapshot put back?"
        ),
        ("etcdserver: key is not provided", .invalid, "this is an error of this program"),
        (
            "etcdserver: duplicate key given in txn request", .invalid,
            "this is an error of this program"
        ),
        ("etcdserver: key not found", .invalid, "this is an error of this program"),
        ("unknown service", .invalid, "is it etcd 3.4 or newer?"),
        ("unknown method", .invalid, "is it etcd 3.4 or newer?"),
    ]

    /// What a text of etcd's says; nil if it does not say that nothing was done.
    init?(saying text: String) {
        guard let known = Self.sure.first(where: { text.hasPrefix($0.text) }) else { return nil }
        self.init(kind: known.kind, description: "the engine says \"\(text)\"; \(known.advice)")
    }

    static func notSent(_ why: String) -> Self { Self(kind: .notSent, description: why) }
}

extension Outcome {
    /// What a call's end other than an answer means.
    init(of end: GRPCAnswer.End) {
        switch end {
        case .status(let code, let text):
            if text.hasPrefix("etcdserver: mvcc: database space exceeded") {
                self = .unknown(.full)
            } else if let refusal = Refusal(saying: text) {
                self = .refused(refusal)
            } else {
                self = .unknown(.failed(code, text))
            }
        case .turnedAway: self = .refused(.notSent("the engine takes no more calls now"))
        case .broken(let why): self = .unknown(.lost(why))
        case .malformed(let what): self = .unknown(.malformed(what))
        }
    }
}
#endif
