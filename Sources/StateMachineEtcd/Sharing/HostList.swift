#if Cluster
import StateMachineCore
import StateMachineProtocol

/// The hosts that have a session, as the engine last showed them.
///
/// A value that decides nothing.
struct HostList: Sendable {
    private struct Entry {
        let record: HostRecord
        /// How far its clock was ahead when the record arrived, in milliseconds; nil: it was read, and may have been written long before.
        let offset: Int64?
    }

    private let keys: SharedKeys
    private var entries: [String: Entry] = [:]

    var count: Int { self.entries.count }

    init(_ keys: SharedKeys) { self.keys = keys }

    /// How many of them come before that one by their names.
    func rank(of host: String) -> Int { self.entries.keys.count { $0 < host } }

    /// What asks for all of them.
    var request: RangeRequest { RangeRequest(self.keys.hosts) }

    /// Takes over what a read shows; of a record that is known, what was learned as it arrived stays.
    mutating func seen(_ answer: RangeRequest.Answer) {
        var entries: [String: Entry] = [:]
        for found in answer.entries {
            guard case .host(let name) = self.keys.subject(of: found.key),
                let record = try? HostRecord(reading: found.value)
            else { continue }
            let offset = self.entries[name].flatMap {
                $0.record.instance == record.instance ? $0.offset : nil
            }
            entries[name] = Entry(record: record, offset: offset)
        }
        self.entries = entries
    }

    /// Takes over what the watch has brought at that time.
    mutating func came(_ events: [WatchEvent], at wall: WallTime) {
        for event in events {
            guard case .host(let name) = self.keys.subject(of: event.entry.key) else { continue }
            let record = event.isDeletion ? nil : try? HostRecord(reading: event.entry.value)
            self.entries[name] = record.map {
                let ahead = ($0.wall.microseconds - wall.microseconds) / 1000
                return Entry(record: $0, offset: ahead)
            }
        }
    }

    /// In the order of their names; `isFresh`: whether a quorum has just shown them.
    func listed(isFresh: Bool) -> SharingHosts {
        let hosts = self.entries.sorted { $0.key < $1.key }.map { name, entry in
            SharingHosts.Host(
                name,
                version: entry.record.version,
                seq: entry.record.seq,
                session: String(entry.record.session, radix: 16),
                form: entry.record.form,
                declaration: entry.record.declaration,
                boot: entry.record.boot,
                offset: entry.offset
            )
        }
        return SharingHosts(hosts, isFresh: isFresh)
    }
}
#endif
