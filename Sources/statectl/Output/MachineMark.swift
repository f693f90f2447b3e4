import StateMachineClient
import StateMachineCore

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
