/// A command's name as a unit's name, and back.
extension CommandName {
    package var unit: String { "\(self).service" }

    /// A pattern for all units of a machine; it may match others too, as names may contain dashes.
    package static func pattern(of label: MachineLabel) -> String {
        "statemachine-\(label)-*.service"
    }

    /// The fields that the unit adds to each of its lines in the journal, as its name cannot tell
    /// where the machine's name ends and the state's begins.
    package var logFields: [String] {
        [
            "STATEMACHINE_MACHINE=\(self.label)",
            "STATEMACHINE_RUNTIME_DIRECTORY=\(self.label.directory)",
            "STATEMACHINE_STATE=\(self.state)",
            "STATEMACHINE_KEY=\(self.key)",
            "STATEMACHINE_SEQ=\(self.seq)",
        ]
    }

    /// The command that has those fields; nil if it is not one of that machine.
    package init?(_ label: MachineLabel, logFields: [String]) {
        func value(of field: String) -> String? {
            logFields.first { $0.hasPrefix("\(field)=") }.map {
                String($0.dropFirst(field.count + 1))
            }
        }
        guard value(of: "STATEMACHINE_MACHINE") == label.description,
            // Units of older runners do not say where their daemon is; they count as this one's.
            value(of: "STATEMACHINE_RUNTIME_DIRECTORY") ?? label.directory == label.directory,
            let state = value(of: "STATEMACHINE_STATE"),
            let key = value(of: "STATEMACHINE_KEY").flatMap(Key.init),
            let seq = value(of: "STATEMACHINE_SEQ").flatMap({ UInt64($0) })
        else { return nil }
        self.init(label, state: state, key, seq: seq)
    }
}
