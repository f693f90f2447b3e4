/// The program at the other end of a local socket, for people to look at: a process names itself.
///
/// Shared by everything that a connection causes.
package final class Program: Hashable, Codable, Sendable {
    /// The process's own name, as the kernel shows it.
    package let comm: String?
    /// The systemd unit that it runs in; a user's with the user's manager before it, as in
    /// `user@1000.service/deploy.service`.
    package let unit: String?
    /// The peer as a front writes it in its lines, built once for all of them; empty without a
    /// front.
    package let written: [UInt8]

    package init(comm: String?, unit: String?, written: [UInt8] = []) {
        self.comm = comm
        self.unit = unit
        self.written = written
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
