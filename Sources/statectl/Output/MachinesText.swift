import StateMachineClient
import StateMachineCore

/// The machines as text for people, a line each.
struct MachinesText {
    let text: LineText

    /// Several lines, without the last one's newline.
    func text(_ rows: [MachineRow]) -> String {
        let names = rows.map { $0.instance.name?.printable ?? MachineMark.unnamed }
        let machines = rows.map { $0.machine?.printable ?? MachineMark.unnamed }
        let widths = [names, machines].map { column in column.map(\.count).max() ?? 0 }
        let parts = rows.map { $0.report.map { self.text.parts(of: $0) } }
        let state = [StyledText].firstColumn(parts.compactMap(\.self), in: self.text.width)
        return rows.indices.map { index in
            let row = rows[index]
            let start = [
                StyledText(names[index].padded(to: widths[0])),
                StyledText(machines[index].padded(to: widths[1])),
            ]
            let rest =
                parts[index].map { [$0[0].padded(to: state)] + $0.dropFirst() }
                ?? [StyledText((row.error ?? "?").printable, as: .notice)]
            let place = StyledText(row.instance.directory.path.printable, as: .aside)
            return self.text.wrapped(start + rest + [place], indent: widths[0] + 3)
        }
        .joined(separator: "\n")
    }
}
