extension Drawing {
    var plainText: String {
        self.states.enumerated().map { number, state in
            var remarks: [String] = []
            if number == self.present { remarks.append("present") }
            if number == self.initial { remarks.append("start") }
            if state.isFinal { remarks.append("final") }
            if !state.groups.isEmpty {
                remarks.append("in \(state.groups.joined(separator: ", "))")
            }
            let title =
                remarks.isEmpty ? state.name : "\(state.name)  (\(remarks.joined(separator: "; ")))"
            let arrows = state.arrows.map { arrow in
                "\(arrow.labels.joined(separator: ", ")) → \(self.states[arrow.to].name)"
            }
            let rows = state.lines + arrows + (state.isOpen ? ["set → any"] : [])
            return ([title] + rows.map { "  " + $0 }).joined(separator: "\n")
        }
        .joined(separator: "\n\n")
    }
}
