extension Drawing {
    var plainText: String {
        self.states.enumerated().map { number, state in
            let remarks = self.remarks(number).joined(separator: "; ")
            let title = remarks.isEmpty ? state.name : "\(state.name)  (\(remarks))"
            let arrows = state.arrows.map { arrow in
                let past = arrow.past.map { "  (\($0.text))" } ?? ""
                return
                    "\(arrow.labels.joined(separator: ", ")) → \(self.states[arrow.to].name)\(past)"
            }
            let rows = state.lines + arrows + (state.isOpen ? ["set → any"] : [])
            return ([title] + rows.map { "  " + $0 }).joined(separator: "\n")
        }
        .joined(separator: "\n\n")
    }

    /// Short remarks about a state.
    func remarks(_ number: Int) -> [String] {
        let state = self.states[number]
        var remarks: [String] = []
        if number == self.present { remarks.append("present") }
        if number == self.initial { remarks.append("start") }
        if state.isFinal { remarks.append("final") }
        if let bar = state.bar { remarks.append(bar.rawValue) }
        if !state.groups.isEmpty { remarks.append("in \(state.groups.joined(separator: ", "))") }
        return remarks
    }
}
