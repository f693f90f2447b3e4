import SystemPackage

/// What a machine's commands are named after: its name, and the instance's where there is one.
package struct MachineLabel: Hashable, Sendable, CustomStringConvertible {
    /// The declaration's name, else the instance's, else `statemachine`.
    package let machine: String
    /// Nil for the unnamed instance of the system, or of the user.
    package let instance: String?
    /// The path of the daemon's runtime directory: the same file may be tried beside the service.
    package let directory: String

    package init(machine: String, instance: String?, directory: String) {
        self.machine = machine
        self.instance = instance
        self.directory = FilePath(directory).lexicallyNormalized().string
    }

    /// `kiosk`, or `lamp:kitchen`: two instances may have machines of one name, and no name has a colon.
    package var description: String {
        self.instance.map { "\(self.machine):\($0)" } ?? self.machine
    }
}

/// Identifies a command of a machine: no two have the same name at the same time, and the same
/// command of the same stay has it again after the runner restarts.
package struct CommandName: Hashable, Sendable, CustomStringConvertible {
    /// What the command is to the stay.
    package enum Key: Hashable, Sendable {
        case run
        /// With its index among them, from 1.
        case enter(Int)
        case leave(Int)
    }

    package let label: MachineLabel
    package let state: String
    package let key: Key
    /// For a run the seq that began the stay, for a hook the seq of the change.
    package let seq: UInt64

    package init(_ label: MachineLabel, state: String, _ key: Key, seq: UInt64) {
        self.label = label
        self.state = state
        self.key = key
        self.seq = seq
    }

    /// `statemachine-kiosk-menu-run-17`, `statemachine-kiosk-menu-enter-2-17`: a unit's name without its suffix.
    package var description: String {
        "statemachine-\(self.label)-\(self.state)-\(self.key)-\(self.seq)"
    }
}

extension CommandName.Key: CustomStringConvertible {
    /// `run`, `enter-1`, `leave-2`.
    package var description: String {
        switch self {
        case .run: "run"
        case .enter(let place): "enter-\(place)"
        case .leave(let place): "leave-\(place)"
        }
    }

    /// As ``description`` has it.
    package init?(_ text: String) {
        if text == "run" {
            self = .run
            return
        }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let place = Int(parts[1]), place > 0 else { return nil }
        switch parts[0] {
        case "enter": self = .enter(place)
        case "leave": self = .leave(place)
        default: return nil
        }
    }
}
