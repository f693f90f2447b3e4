/// The program at the other end of a local socket, for people to look at: a process names itself.
///
/// One for each connection, shared by everything that it causes.
///
/// `@unchecked Sendable`: the texts are written once, before it is shared, and freed with it.
package final class Program: Hashable, Codable, @unchecked Sendable {
    /// The process's own name, as the kernel shows it.
    package let comm: String?
    /// The systemd unit that it runs in; a user's with the user's manager before it, as in
    /// `user@1000.service/deploy.service`.
    package let unit: String?
    /// The peer as a front writes it in its lines, built once for all of them; empty without a
    /// front.
    package let written: [UInt8]

    /// The texts, readable for as long as this lives; nil where missing.
    package let commText: UnsafeBufferPointer<CChar>?
    package let unitText: UnsafeBufferPointer<CChar>?

    package init(comm: String?, unit: String?, written: [UInt8] = []) {
        self.comm = comm
        self.unit = unit
        self.written = written
        self.commText = comm.map { .allocate(copying: $0) }
        self.unitText = unit.map { .allocate(copying: $0) }
    }

    deinit {
        self.commText?.deallocate()
        self.unitText?.deallocate()
    }

    package static func == (left: Program, right: Program) -> Bool {
        left === right || left.comm == right.comm && left.unit == right.unit
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.comm)
        hasher.combine(self.unit)
    }

    private enum CodingKeys: CodingKey {
        case comm, unit
    }

    package convenience init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            comm: try values.decodeIfPresent(String.self, forKey: .comm),
            unit: try values.decodeIfPresent(String.self, forKey: .unit)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(self.comm, forKey: .comm)
        try values.encodeIfPresent(self.unit, forKey: .unit)
    }
}

extension UnsafeBufferPointer<CChar> {
    /// A copy of a text that stays in place until it is deallocated.
    package static func allocate(copying text: String) -> Self {
        // One byte more: an empty buffer has no address and would be taken for no text.
        let bytes = text.utf8CString
        let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        return Self(rebasing: Self(copy).dropLast())
    }
}
