import StateMachineCore
package import StateMachineProtocol

extension Drawing {
    /// A drawing of the machine in a daemon's answer to `describe`, whatever kind of machine it is;
    /// the state of the name `present` is marked.
    ///
    /// - Returns: nil if the answer has no states.
    package init?(description: JSONValue, present: String? = nil) {
        let states = description["states"]?.elements ?? []
        let names = states.map { $0["state"]?.string ?? "?" }
        guard !names.isEmpty else { return nil }
        let numbers = names.numbered
        let number = { (name: String) in numbers[Spelling(name)] }
        self.title = description["machine"]?.string?.printable
        self.initial = description["initial"]?["state"]?.string.flatMap(number) ?? 0
        self.present = present.flatMap(number)
        self.states = zip(names, states).map { name, state in
            let own = number(name) ?? 0
            let next = (description["transitions"]?[name]?.elements ?? [])
                .compactMap { $0.string.flatMap(number) }
            let isOpen = next.count == names.count
            var ways: [(label: String, to: Int)] = []
            var kept: [String] = []
            for event in state["when"]?.members ?? [] {
                switch event.value.string {
                case "stay"?, "ignore"?:
                    kept.append("\(event.key): \(event.value.plainText)".printable)
                case "again"?: ways.append((event.key.printable, own))
                case let target?: number(target).map { ways.append((event.key.printable, $0)) }
                case nil: break
                }
            }
            if let after = state["after"], let to = after["state"]?.string.flatMap(number) {
                let time = Duration.milliseconds(after["ms"]?.integer ?? 0).timeText
                ways.append(("after \(time)", to))
            }
            for move in state["moves"]?.members ?? [] {
                move.value.string.flatMap(number).map { ways.append((move.key.printable, $0)) }
            }
            let fields = (state["fields"]?.members ?? []).map(Self.line)
            let run = state["run"]?.bool == true ? ["runs a command"] : []
            return State(
                name: name.printable,
                groups: (state["groups"]?.elements ?? []).map(\.plainText.printable),
                isFinal: state["final"]?.bool ?? false,
                lines: fields + run + kept,
                arrows: Self.arrows(ways, sets: isOpen ? [] : next),
                isOpen: isOpen
            )
        }
    }

    private static func line(_ field: JSONMember) -> String {
        let values = (field.value["values"]?.elements ?? []).map(\.plainText)
        let kind =
            values.isEmpty ? field.value["type"]?.plainText ?? "?" : values.joined(separator: "|")
        let mark = field.value["optional"]?.bool == true ? "?" : ""
        return "\(field.key): \(kind)\(mark)".printable
    }
}
