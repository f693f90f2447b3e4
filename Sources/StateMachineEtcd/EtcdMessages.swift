#if Cluster
/// A message as etcd sends it; fields that a later etcd may have are passed over.
package protocol EtcdMessage: Sendable {
    init()
    mutating func read(_ field: ProtobufField) throws(Malformed)
}

extension EtcdMessage {
    /// Reads all of it.
    init(_ bytes: ArraySlice<UInt8>) throws(Malformed) {
        self.init()
        var reader = ProtobufReader(bytes)
        while let field = try reader.next() { try self.read(field) }
    }
}

/// What etcd is asked for, and which call asks for it.
package protocol EtcdRequest: Sendable {
    associatedtype Answer: EtcdMessage
    static var path: String { get }
    func write(to writer: inout ProtobufWriter)
}

extension EtcdRequest {
    var bytes: [UInt8] {
        var writer = ProtobufWriter()
        self.write(to: &writer)
        return writer.bytes
    }
}

/// One key, or all from one up to another.
package struct KeyRange: Hashable, Sendable {
    package let first: [UInt8]
    /// The first key behind it; empty if it is one key.
    package let end: [UInt8]

    package init(_ key: String) { (self.first, self.end) = (Array(key.utf8), []) }

    /// From `first` up to `end`, which is not in it.
    package init(from first: String, upTo end: String) {
        (self.first, self.end) = (Array(first.utf8), Array(end.utf8))
    }

    /// All keys that begin so; a prefix of UTF-8 has no byte 0xFF, so there is always one behind them.
    package init(prefix: String) {
        self.first = Array(prefix.utf8)
        self.end = self.first.dropLast() + self.first.suffix(1).map { $0 + 1 }
    }

    package func contains(_ key: [UInt8]) -> Bool {
        guard !self.end.isEmpty else { return key == self.first }
        return !key.lexicographicallyPrecedes(self.first)
            && key.lexicographicallyPrecedes(self.end)
    }
}

extension ProtobufWriter {
    fileprivate mutating func write(_ range: KeyRange) {
        self.write(1, range.first)
        self.write(2, range.end)
    }
}

/// Who answered, and as of which revision.
package struct ResponseHeader: EtcdMessage, Hashable {
    package private(set) var cluster: UInt64 = 0
    package private(set) var member: UInt64 = 0
    package private(set) var revision: Int64 = 0
    package private(set) var term: UInt64 = 0

    package init() {}

    package init(revision: Int64) { self.revision = revision }

    package mutating func read(_ field: ProtobufField) throws(Malformed) {
        switch field.field {
        case 1: self.cluster = try field.unsigned
        case 2: self.member = try field.unsigned
        case 3: self.revision = try field.number
        case 4: self.term = try field.unsigned
        default: break
        }
    }
}

package struct KeyValue: EtcdMessage, Hashable {
    package private(set) var key: [UInt8] = []
    package private(set) var createRevision: Int64 = 0
    package private(set) var modRevision: Int64 = 0
    /// How often it was put since it was created: 1, 2, and so on.
    package private(set) var version: Int64 = 0
    package private(set) var value: [UInt8] = []
    /// 0: none.
    package private(set) var lease: Int64 = 0

    package init() {}

    package init(
        _ key: [UInt8],
        _ value: [UInt8],
        created createRevision: Int64,
        modified modRevision: Int64,
        version: Int64,
        lease: Int64 = 0
    ) {
        (self.key, self.value, self.lease) = (key, value, lease)
        (self.createRevision, self.modRevision, self.version) = (
            createRevision, modRevision, version
        )
    }

    package mutating func read(_ field: ProtobufField) throws(Malformed) {
        switch field.field {
        case 1: self.key = try field.bytes
        case 2: self.createRevision = try field.number
        case 3: self.modRevision = try field.number
        case 4: self.version = try field.number
        case 5: self.value = try field.bytes
        case 6: self.lease = try field.number
        default: break
        }
    }
}

extension Array {
    /// Appends what an answer has one more of.
    ///
    /// 131,072 at most: a machine keeps 10,000 changes unless it is told otherwise, and each entry that is empty
    /// takes 50 times of memory what it takes on the wire.
    fileprivate mutating func add(_ element: Element) throws(Malformed) {
        guard self.count < 1 << 17 else {
            throw Malformed("an answer has more than 131,072 entries")
        }
        self.append(element)
    }
}

/// Reads keys, as a quorum has them.
package struct RangeRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.KV/Range"

    package var keys: KeyRange
    /// 0: all.
    package var limit: Int64 = 0
    /// 0: the newest.
    package var revision: Int64 = 0
    package var keysOnly = false
    /// Whether the last key comes first.
    package var isDescending = false

    package init(
        _ keys: KeyRange,
        limit: Int64 = 0,
        at revision: Int64 = 0,
        keysOnly: Bool = false,
        isDescending: Bool = false
    ) {
        (self.keys, self.limit, self.revision) = (keys, limit, revision)
        (self.keysOnly, self.isDescending) = (keysOnly, isDescending)
    }

    package func write(to writer: inout ProtobufWriter) {
        writer.write(self.keys)
        writer.write(3, self.limit)
        writer.write(4, self.revision)
        // SortOrder.DESCEND, by the key, which is what is sorted by otherwise, too.
        if self.isDescending { writer.write(5, 2) }
        writer.write(8, self.keysOnly)
    }

    package struct Answer: EtcdMessage, Hashable {
        package private(set) var header = ResponseHeader()
        /// In the order of the keys, or from the last one on.
        package private(set) var entries: [KeyValue] = []
        /// Whether the limit has left some out.
        package private(set) var hasMore = false
        /// How many there are, with those.
        package private(set) var count: Int64 = 0

        package init() {}

        package init(_ header: ResponseHeader, _ entries: [KeyValue], of count: Int) {
            (self.header, self.entries, self.count) = (header, entries, Int64(count))
            self.hasMore = entries.count < count
        }

        package mutating func read(_ field: ProtobufField) throws(Malformed) {
            switch field.field {
            case 1: self.header = try field.message()
            case 2: try self.entries.add(try field.message())
            case 3: self.hasMore = try field.flag
            case 4: self.count = try field.number
            default: break
            }
        }
    }
}

package struct PutRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.KV/Put"

    package var key: String
    /// Nil: the one that it has, which must be there.
    package var value: [UInt8]?
    /// 0: none, also if it had one.
    package var lease: Int64

    package init(_ key: String, _ value: [UInt8]?, lease: Int64 = 0) {
        (self.key, self.value, self.lease) = (key, value, lease)
    }

    package func write(to writer: inout ProtobufWriter) {
        writer.write(1, Array(self.key.utf8))
        writer.write(2, self.value ?? [])
        writer.write(3, self.lease)
        writer.write(5, self.value == nil)
    }

    package typealias Answer = Done
}

/// That it has been done.
package struct Done: EtcdMessage, Hashable {
    package private(set) var header = ResponseHeader()

    package init() {}

    package mutating func read(_ field: ProtobufField) throws(Malformed) {
        if field.field == 1 { self.header = try field.message() }
    }
}

package struct DeleteRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.KV/DeleteRange"

    package var keys: KeyRange

    package init(_ keys: KeyRange) { self.keys = keys }

    package func write(to writer: inout ProtobufWriter) { writer.write(self.keys) }

    package struct Answer: EtcdMessage, Hashable {
        package private(set) var header = ResponseHeader()
        /// How many.
        package private(set) var deleted: Int64 = 0

        package init() {}

        package mutating func read(_ field: ProtobufField) throws(Malformed) {
            switch field.field {
            case 1: self.header = try field.message()
            case 2: self.deleted = try field.number
            default: break
            }
        }
    }
}

/// What must hold of each of some keys; of a key that is not there every number is 0, and a range without keys is compared
/// as such a key is.
package struct Comparison: Hashable, Sendable {
    package enum Relation: Int64, Sendable { case equal, greater, less, notEqual }
    package enum Subject: Hashable, Sendable {
        case version(Int64)
        case createRevision(Int64)
        case modRevision(Int64)
        /// No key that is not there fulfils it.
        case value([UInt8])
        case lease(Int64)
    }

    package var keys: KeyRange
    package var relation: Relation
    package var subject: Subject

    package init(_ keys: KeyRange, _ relation: Relation, _ subject: Subject) {
        (self.keys, self.relation, self.subject) = (keys, relation, subject)
    }

    fileprivate func write(to writer: inout ProtobufWriter) {
        writer.write(1, self.relation.rawValue)
        // Which field the value has says what is compared once more: it is the number of that plus 4.
        let (subject, number): (Int64, Int64) =
            switch self.subject {
            case .version(let version): (0, version)
            case .createRevision(let revision): (1, revision)
            case .modRevision(let revision): (2, revision)
            case .value: (3, 0)
            case .lease(let lease): (4, lease)
            }
        writer.write(2, subject)
        writer.write(3, self.keys.first)
        if case .value(let value) = self.subject {
            writer.writeAlways(7, value)
        } else {
            writer.writeAlways(UInt64(subject) + 4, number)
        }
        writer.write(64, self.keys.end)
    }
}

/// All of it at one revision, or nothing.
package struct TransactionRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.KV/Txn"

    package enum Operation: Hashable, Sendable {
        case range(RangeRequest)
        case put(PutRequest)
        case delete(DeleteRequest)

        fileprivate func write(to writer: inout ProtobufWriter) {
            switch self {
            case .range(let range): writer.writeAlways(1, range.bytes)
            case .put(let put): writer.writeAlways(2, put.bytes)
            case .delete(let delete): writer.writeAlways(3, delete.bytes)
            }
        }
    }

    /// Whether all of them hold decides which operations are done.
    package var comparisons: [Comparison]
    package var success: [Operation]
    package var failure: [Operation]

    package init(
        if comparisons: [Comparison],
        then success: [Operation],
        else failure: [Operation] = []
    ) {
        (self.comparisons, self.success, self.failure) = (comparisons, success, failure)
    }

    package func write(to writer: inout ProtobufWriter) {
        for comparison in self.comparisons { writer.write(1) { comparison.write(to: &$0) } }
        for operation in self.success { writer.write(2) { operation.write(to: &$0) } }
        for operation in self.failure { writer.write(3) { operation.write(to: &$0) } }
    }

    package struct Answer: EtcdMessage, Hashable {
        package private(set) var header = ResponseHeader()
        /// Whether all comparisons held.
        package private(set) var succeeded = false
        /// One for each operation that was done, in order.
        package private(set) var results: [Result] = []

        package init() {}

        package init(_ header: ResponseHeader, succeeded: Bool, _ results: [Result]) {
            (self.header, self.succeeded, self.results) = (header, succeeded, results)
        }

        package mutating func read(_ field: ProtobufField) throws(Malformed) {
            switch field.field {
            case 1: self.header = try field.message()
            case 2: self.succeeded = try field.flag
            case 3: try self.results.add(try field.message())
            default: break
            }
        }
    }

    package enum Result: EtcdMessage, Hashable {
        case range(RangeRequest.Answer)
        case put
        case delete(DeleteRequest.Answer)

        package init() { self = .put }

        package mutating func read(_ field: ProtobufField) throws(Malformed) {
            switch field.field {
            case 1: self = .range(try field.message())
            case 2: self = .put
            case 3: self = .delete(try field.message())
            default: throw Malformed("a transaction has done what nobody asked for")
            }
        }
    }
}

/// A lease that ends by itself, with the keys that are put with it, unless it is kept alive.
package struct LeaseGrantRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.Lease/LeaseGrant"

    package var seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    package func write(to writer: inout ProtobufWriter) { writer.write(1, self.seconds) }

    package typealias Answer = Lease
}

/// A lease, as it was granted or kept alive.
package struct Lease: EtcdMessage, Hashable {
    package private(set) var header = ResponseHeader()
    package private(set) var id: Int64 = 0
    /// How long it lasts from now on; of one that has ended 0.
    package private(set) var seconds: Int64 = 0

    package init() {}

    package init(_ header: ResponseHeader, _ id: Int64, seconds: Int64) {
        (self.header, self.id, self.seconds) = (header, id, seconds)
    }

    package mutating func read(_ field: ProtobufField) throws(Malformed) {
        switch field.field {
        case 1: self.header = try field.message()
        case 2: self.id = try field.number
        case 3: self.seconds = try field.number
        default: break
        }
    }
}

package struct LeaseRevokeRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.Lease/LeaseRevoke"

    package var id: Int64

    package init(_ id: Int64) { self.id = id }

    package func write(to writer: inout ProtobufWriter) { writer.write(1, self.id) }

    package typealias Answer = Done
}

/// Has a lease last its whole time again.
///
/// For etcd it is a stream. One of its own for each request has just one answer, so it is known which sending was answered.
package struct LeaseKeepAliveRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.Lease/LeaseKeepAlive"

    package var id: Int64

    package init(_ id: Int64) { self.id = id }

    package func write(to writer: inout ProtobufWriter) { writer.write(1, self.id) }

    package typealias Answer = Lease
}

/// Asks a member about itself.
package struct StatusRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.Maintenance/Status"

    package init() {}

    package func write(to writer: inout ProtobufWriter) {}

    package struct Answer: EtcdMessage, Hashable {
        package private(set) var header = ResponseHeader()
        package private(set) var version = ""
        /// Whether that is before 3.5, which is the oldest that was mended of watches that starve and members that come to differ.
        package var isOld: Bool {
            let numbers = self.version.split(separator: ".").prefix(2).compactMap { Int($0) }
            return numbers.count == 2 && numbers.lexicographicallyPrecedes([3, 5])
        }
        /// In bytes.
        package private(set) var databaseSize: Int64 = 0
        /// 0: it knows of none.
        package private(set) var leader: UInt64 = 0
        /// What it complains of, such as NOSPACE.
        package private(set) var errors: [String] = []

        package init() {}

        package mutating func read(_ field: ProtobufField) throws(Malformed) {
            switch field.field {
            case 1: self.header = try field.message()
            case 2: self.version = try field.text
            case 3: self.databaseSize = try field.number
            case 4: self.leader = try field.unsigned
            case 8: try self.errors.add(try field.text)
            default: break
            }
        }
    }
}

/// Begins a watch; its answers come one after the other.
package struct WatchRequest: EtcdRequest, Hashable {
    package static let path = "/etcdserverpb.Watch/Watch"

    package var keys: KeyRange
    /// The first revision whose changes come.
    package var start: Int64

    package init(_ keys: KeyRange, from start: Int64) { (self.keys, self.start) = (keys, start) }

    package func write(to writer: inout ProtobufWriter) {
        writer.write(1) { create in
            create.write(self.keys)
            create.write(3, self.start)
            // From time to time it says how far it is, and long answers come in fragments.
            create.write(4, true)
            create.write(8, true)
        }
    }

    package struct Answer: EtcdMessage, Hashable {
        package private(set) var header = ResponseHeader()
        package private(set) var watch: Int64 = 0
        package private(set) var isCreated = false
        package private(set) var isCancelled = false
        /// The oldest revision that is there, if one was asked for that is not; else 0.
        package private(set) var compactRevision: Int64 = 0
        package private(set) var reason = ""
        /// Whether more of it follows.
        package private(set) var isFragment = false
        package private(set) var events: [WatchEvent] = []

        package init() {}

        /// Changes, or that it has begun, or that it has ended since what it asks for was compacted.
        package init(
            _ header: ResponseHeader,
            _ events: [WatchEvent] = [],
            isFragment: Bool = false,
            isCreated: Bool = false,
            compacted compactRevision: Int64 = 0
        ) {
            (self.header, self.events, self.isFragment) = (header, events, isFragment)
            (self.isCreated, self.isCancelled, self.compactRevision) = (
                isCreated, compactRevision > 0, compactRevision
            )
        }

        package mutating func read(_ field: ProtobufField) throws(Malformed) {
            switch field.field {
            case 1: self.header = try field.message()
            case 2: self.watch = try field.number
            case 3: self.isCreated = try field.flag
            case 4: self.isCancelled = try field.flag
            case 5: self.compactRevision = try field.number
            case 6: self.reason = try field.text
            case 7: self.isFragment = try field.flag
            case 11: try self.events.add(try field.message())
            default: break
            }
        }
    }
}

/// One key was put or deleted.
package struct WatchEvent: EtcdMessage, Hashable {
    package private(set) var isDeletion = false
    /// As it is now; of a deleted one only key and revision.
    package private(set) var entry = KeyValue()

    package init() {}

    package init(_ entry: KeyValue, isDeletion: Bool = false) {
        (self.entry, self.isDeletion) = (entry, isDeletion)
    }

    package mutating func read(_ field: ProtobufField) throws(Malformed) {
        switch field.field {
        case 1: self.isDeletion = try field.flag
        case 2: self.entry = try field.message()
        default: break
        }
    }
}
#endif
