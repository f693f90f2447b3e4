#if Cluster
import StateMachineCore
package import StateMachineProtocol

/// The keys of one shared machine in the engine.
package struct SharedKeys: Hashable, Sendable {
    /// What a key of the machine is about.
    package enum Subject: Hashable, Sendable {
        case head
        /// A block of the log, by its epoch and first seq.
        case block(Epoch, first: UInt64)
        case host(String)
        /// A hold or guard, by its host and number.
        case voter(Voter)
        case ticket(Ticket)
        case settings
    }

    package struct Voter: Hashable, Sendable {
        package let host: String
        package let number: UInt64

        package init(_ host: String, _ number: UInt64) { (self.host, self.number) = (host, number) }
    }

    package struct Ticket: Hashable, Sendable {
        package let host: String
        /// 0 or 1: a host that has the one may put the other.
        package let number: Int

        package init(_ host: String, _ number: Int) { (self.host, self.number) = (host, number) }
    }

    /// The digits of a seq in a key, so that keys sort as numbers do.
    private static let digits = 16

    /// With the slash at its end.
    package let prefix: String

    package init(machine: String) { self.prefix = "/statemachine/v1/\(machine)/" }

    package var all: KeyRange { KeyRange(prefix: self.prefix) }
    package var head: String { "\(self.prefix)head" }
    package var settings: String { "\(self.prefix)settings" }
    package var voters: KeyRange { KeyRange(prefix: "\(self.prefix)voters/") }
    package var hosts: KeyRange { KeyRange(prefix: "\(self.prefix)hosts/") }
    package var queue: KeyRange { KeyRange(prefix: "\(self.prefix)queue/") }

    package func block(_ epoch: Epoch, first: UInt64) -> String {
        "\(self.log(epoch))\(first.digits(Self.digits, radix: 16))"
    }
    package func host(_ host: String) -> String { "\(self.prefix)hosts/\(host)" }
    package func voter(_ voter: Voter) -> String {
        "\(self.prefix)voters/\(voter.host)/\(voter.number)"
    }
    package func ticket(_ ticket: Ticket) -> String {
        "\(self.prefix)queue/\(ticket.host)-\(ticket.number)"
    }

    /// All blocks of an epoch.
    package func blocks(of epoch: Epoch) -> KeyRange { KeyRange(prefix: self.log(epoch)) }

    /// Blocks of an epoch whose first seq is at least that.
    package func blocks(of epoch: Epoch, from first: UInt64) -> KeyRange {
        // The character behind the slash: all keys of the epoch's log are before that.
        KeyRange(from: self.block(epoch, first: first), upTo: "\(self.prefix)log/\(epoch)0")
    }

    /// Blocks of an epoch whose first seq is less than that.
    package func blocks(of epoch: Epoch, before first: UInt64) -> KeyRange {
        KeyRange(from: self.log(epoch), upTo: self.block(epoch, first: first))
    }

    private func log(_ epoch: Epoch) -> String { "\(self.prefix)log/\(epoch)/" }

    /// What a key is about; nil if it is another's, or this program does not know it.
    package func subject(of key: [UInt8]) -> Subject? {
        guard key.starts(with: self.prefix.utf8), let text = String(validating: key, as: UTF8.self)
        else { return nil }
        let words = text.utf8.dropFirst(self.prefix.utf8.count)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String($0) ?? "" }
        switch (words.first, words.count) {
        case ("head", 1): return .head
        case ("settings", 1): return .settings
        case ("log", 3):
            guard let epoch = Epoch(words[1]), let first = UInt64(words[2], radix: 16),
                first < RequestLimits.integerBound, words[2] == first.digits(Self.digits, radix: 16)
            else { return nil }
            return .block(epoch, first: first)
        case ("hosts", 2): return words[1].isEmpty ? nil : .host(words[1])
        case ("voters", 3):
            guard let number = UInt64(words[2]), words[2] == "\(number)", !words[1].isEmpty else {
                return nil
            }
            return .voter(Voter(words[1], number))
        case ("queue", 2):
            let name = words[1]
            guard name.utf8.count > 2, name.hasSuffix("-0") || name.hasSuffix("-1") else {
                return nil
            }
            return .ticket(Ticket(String(name.dropLast(2)), name.hasSuffix("1") ? 1 : 0))
        default: return nil
        }
    }
}
#endif
