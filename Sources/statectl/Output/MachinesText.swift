import StateMachineClient
import StateMachineCore

/// The machines as people are shown them, a line each.
struct MachinesText {
    let text: LineText

    /// Several lines, without the last one's newline.
    func text(_ rows: [MachineRow]) -> String {
        let names = rows.map { $0.instance.name?.printable ?? "-" }
        let machines = rows.map { $0.machine?.printable ?? "-" }
        let widths = [names, machines].map { column in column.map(\.count).max() ?? 0 }
        return rows.indices.map { index in
            let row = rows[index]
            let name = names[index].padded(to: widths[0])
            let machine = machines[index].padded(to: widths[1])
            let rest =
                row.report.map { self.text.report($0) }
                ?? self.text.style.text((row.error ?? "?").printable, as: .notice)
            let place = self.text.aside(row.instance.directory.path.printable)
            return "\(name)   \(machine)   \(rest)   \(place)"
        }
        .joined(separator: "\n")
    }
}
