import StateMachineHistory

extension Settings {
    /// The history's directory; nil if there is to be no history.
    func stateDirectory(_ environment: [String: String]) -> String? {
        guard !self.isOn(.ephemeral) else { return nil }
        return self.text(.stateDirectory) ?? Self.ofSystemd(environment)
    }

    /// systemd lists several directories with colons; the first is ours.
    static func ofSystemd(_ environment: [String: String]) -> String? {
        environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    }

    var historyOptions: HistoryOptions {
        var options = HistoryOptions()
        if let durability = self.text(.durability).flatMap(HistoryOptions.Durability.init) {
            options.durability = durability
        }
        if let keepChanges = self.count(.keepChanges) { options.keepChanges = keepChanges }
        if let keepDays = self.count(.keepDays) { options.keepDays = keepDays }
        return options
    }
}
