import StateMachineProtocol

/// Where a reader of all machines is, as the id of a stream: a place for each.
///
/// Six hexadecimal digits for the name, eight of the epoch, and the number in base 36, for each
/// machine; separated by full stops. A name's digits that are another's, too, have the reader begin
/// with the state, since the epochs differ.
struct JointPlaces: Sendable, CustomStringConvertible {
    /// Digits of a name, and of a name and an epoch.
    ///
    /// Six: with the most machines, 64, the whole id has less than 2 KiB.
    private static let digits = (name: 6, both: 14)

    private var places: [String: Cursor] = [:]

    /// Reads an id; whatever is not one of ours is left out.
    init(_ id: String) {
        for part in id.split(separator: ".").prefix(Machines.most) {
            let (name, rest) = (
                part.prefix(Self.digits.name), part.dropFirst(Self.digits.both)
            )
            let epoch = part.dropFirst(Self.digits.name).prefix(Self.digits.both - Self.digits.name)
            guard let seq = UInt64(rest, radix: 36), let cursor = Cursor("\(epoch):\(seq)") else {
                continue
            }
            self.places[String(name)] = cursor
        }
    }

    subscript(name: String) -> Cursor? {
        get { self.places[Self.key(name)] }
        set { self.places[Self.key(name)] = newValue }
    }

    var description: String {
        self.places.sorted { $0.key < $1.key }
            .map { "\($0.key)\($0.value.epoch)\(String($0.value.seq, radix: 36))" }
            .joined(separator: ".")
    }

    /// FNV-1a, folded to 24 bits.
    private static func key(_ name: String) -> String {
        let hash = name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let text = String((hash >> 24) ^ (hash & 0xff_ffff), radix: 16)
        return String(repeating: "0", count: max(0, self.digits.name - text.count)) + text
    }
}
