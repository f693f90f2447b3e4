import Processes
import StateMachineProtocol

/// What is made of the users and groups that a file names under "by".
public enum AccountLookup: Sendable {
    /// They are not looked up, and let nobody in.
    case none
    /// They are looked up here; of those that are unknown a warning says so.
    case warning
    /// They are looked up here, and have to be known.
    case demanding
}

// Reads who may do something.
extension DraftReader {
    /// A list of users, `@group`s and `any`.
    func right(_ node: YAMLNode) -> Right {
        let names = self.names(node, of: "by")
        if case .sequence(let elements) = node.content, elements.isEmpty {
            self.problems.warn(
                node.position,
                "\"by\" is empty, so only root may; write [root] if that is meant"
            )
        }
        if names.count > 1, let any = names.first(where: { $0.value == Right.everybody }) {
            self.problems.warn(
                any.position,
                "\"any\" lets everybody in, so that the other names mean nothing; remove it, or them"
            )
        }
        var (uids, gids): (Set<UInt32>, Set<UInt32>) = ([], [])
        for name in names {
            guard let account = NamedAccount(name.value) else {
                self.problems.error(name.position, NamedAccount.objection(to: name.value))
                continue
            }
            if account == .user("nobody") || account == .group("nogroup") {
                self.problems.warn(
                    name.position,
                    "\(name.value) stands for whoever the kernel does not name, and so lets nobody in"
                )
            }
            guard account != .everybody, self.accounts != .none else { continue }
            switch (account, account.number) {
            case (.group, let gid?): gids.insert(gid)
            case (_, let uid?): uids.insert(uid)
            case (_, nil):
                let sentence = account.unknown
                if self.accounts == .demanding {
                    self.problems.error(name.position, sentence)
                } else {
                    self.problems.warn(name.position, sentence)
                }
            }
        }
        return Right(names.map(\.value), uids: uids, gids: gids)
    }

    /// Whether "by" of an event is no field of that name: a list, or a word that is no type.
    private func isRight(_ node: YAMLNode) -> Bool {
        switch node.content {
        case .sequence: true
        case .scalar(let scalar): !node.isEmpty && self.knownType(scalar.text) == nil
        case .mapping: false
        }
    }

    /// Who may send an event, and what else is written there: its fields, one of which may be called "by" as well.
    func takeRight(of event: YAMLNode) -> (by: Right?, fields: YAMLNode) {
        guard case .mapping(let entries) = event.content,
            let index = entries.firstIndex(where: { $0.key.text == "by" }),
            self.isRight(entries[index].value)
        else { return (nil, event) }
        var fields = entries
        let by = fields.remove(at: index).value
        return (self.right(by), YAMLNode(content: .mapping(fields), position: event.position))
    }
}

/// A user or a group as a file names it.
private enum NamedAccount: Equatable {
    case everybody
    case user(String)
    case group(String)

    /// Nil if it names nothing.
    init?(_ name: String) {
        let isGroup = name.utf8.first == UInt8(ascii: "@")
        let account = isGroup ? String(name.dropFirst()) : name
        // passwd(5): what would end a field, or a line, is in no name.
        let isName =
            !account.isEmpty && !account.utf8.contains { $0 <= 0x20 || $0 == 0x3A || $0 == 0x7F }
        guard isName else { return nil }
        self = name == Right.everybody ? .everybody : isGroup ? .group(account) : .user(account)
    }

    /// What is wrong with a name that names nothing.
    static func objection(to name: String) -> String {
        switch name {
        case "": "a name is empty; name a user, a group like \"@operators\", or any"
        case "@": "\"@\" names no group; write its name behind it, like \"@operators\""
        default: "\(name.quoted) is not the name of a user or a group"
        }
    }

    /// Its number here; nil if it is unknown.
    ///
    /// A number needs no name: in a container there may be none.
    var number: UInt32? {
        switch self {
        case .everybody: nil
        case .user(let name): Account(named: name)?.uid ?? Self.number(name)
        case .group(let name): AccountGroup(named: name)?.gid ?? Self.number(name)
        }
    }

    /// The largest is no user's and no group's: chown(2).
    private static func number(_ text: String) -> UInt32? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt32(text).flatMap { $0 == .max ? nil : $0 }
    }

    /// What to say where it is unknown.
    var unknown: String {
        switch self {
        case .everybody: ""
        case .user(let name):
            "there is no user \(name.quoted) here"
                + (NearestName.of(name, among: Account.local.map(\.name)).map {
                    "; did you mean \($0)?"
                }
                    ?? "; create it, or write its number")
        case .group(let name):
            "there is no group \(name.quoted) here; create it, or write its number"
        }
    }
}

extension FileDraft {
    /// Who may do what; nil: everybody everything.
    var rights: Rights? {
        let states = self.states.compactMap { state in state.by.map { (state.name.value, $0) } }
        let events = self.events.compactMap { event in event.by.map { (event.name.value, $0) } }
        return Rights(
            usual: self.by,
            states: Dictionary(states) { first, _ in first },
            events: Dictionary(events) { first, _ in first }
        )
    }
}
