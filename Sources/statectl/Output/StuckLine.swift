import StateMachineClient
import StateMachineCore

/// Reports that a state has lasted for long, as a protocol line: `{"type":"stuck","seq":…}`.
enum StuckLine {
    private static let type = "stuck"
    /// A reply's members that the line does not take over.
    private static let others = ["type", "ok", "error", "message", "matched"]

    /// The line, made from a reply that shows the state.
    static func of(_ reply: Line) -> Line? {
        let shown = (reply.value.members ?? []).filter { !self.others.contains($0.key) }
        return Line([JSONMember("type", .string(self.type))] + shown)
    }

    static func isOne(_ line: Line) -> Bool { line.kind == .other(self.type) }
}

/// Reports that the daemon is gone or back, in the form of a protocol line.
enum PresenceLine {
    /// `{"type":"gone","message":…}`.
    static func gone(_ error: ClientError) -> Line? {
        Line([JSONMember("type", "gone"), JSONMember("message", .string(error.description))])
    }

    /// `{"type":"back"}`.
    static let back = Line([JSONMember("type", "back")])
}

extension Line {
    /// A line of our own.
    init?(_ members: [JSONMember]) { self.init(Array(JSONValue.object(members).description.utf8)) }
}

/// Distinguishes a machine's lines from those of others.
struct MachineMark: Sendable {
    /// What the instance without a name is called.
    static let unnamed = "unnamed"

    /// The instance's name, or ``unnamed``.
    let name: String
    private let instance: JSONValue
    /// Columns of the longest name.
    private let width: Int

    /// The marks of machines with these names, in their order; a nil name is the unnamed instance.
    static func all(_ names: [String?]) -> [MachineMark] {
        let shown = names.map { $0?.printable ?? Self.unnamed }
        let width = shown.map(\.count).max() ?? 0
        return zip(names, shown).map { name, shown in
            let instance = name.map { JSONValue.string($0) } ?? .null
            return MachineMark(name: shown, instance: instance, width: width)
        }
    }

    /// The instance's name as it is; empty for the unnamed one.
    var instanceName: String { self.instance.string ?? "" }

    /// Columns that it takes before a line.
    var columns: Int { self.width + 2 }

    /// Each line of a text with the name before it.
    func marked(text: String, _ style: LineText) -> String {
        let name = style.style.text(self.name.padded(to: self.width), as: .label)
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "" : "\(name)  \($0)" }
            .joined(separator: "\n")
    }

    /// A line of the protocol with a last member `instance`.
    func marked(json: String) -> String {
        "\(json.dropLast()),\"instance\":\(self.instance)}"
    }
}
