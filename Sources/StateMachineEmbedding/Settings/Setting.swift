package import ArgumentParser

/// What can be set, by the name that it has in the configuration file.
///
/// The names of its flag and its environment variable follow from that; `row` has the rest.
package enum Setting: String, CaseIterable {
    case runtimeDirectory = "runtime-directory"
    case logLevel = "log-level"
    case logTransitions = "log-transitions"
    case stateDirectory = "state-directory"
    case ephemeral
    case durability
    case keepChanges = "keep-changes"
    case keepDays = "keep-days"
    case maxConnections = "max-connections"
    case reservedConnections = "reserved-connections"
    case controlConnections = "control-connections"
    case maxConnectionsPerUid = "max-connections-per-uid"
    case acceptRate = "accept-rate"
    case acceptBurst = "accept-burst"
    case maxWatches = "max-watches"
    case maxWaits = "max-waits"
    case maxHolds = "max-holds"
    case maxGuards = "max-guards"
    case maxReplies = "max-replies"
    case ringChanges = "ring-changes"
    case ringBytes = "ring-bytes"
    case machine
    case instance

    /// The prefix of all environment variables.
    static let variablePrefix = "STATEMACHINE_"

    /// The environment variable that names the configuration file.
    package static let fileVariable = "STATEMACHINE_CONFIG"

    package var key: String { self.rawValue }

    var flag: String { "--\(self.rawValue)" }

    var variable: String {
        Self.variablePrefix + self.rawValue.uppercased().replacing("-", with: "_")
    }

    /// The value's placeholder in help texts.
    var placeholder: String {
        switch self.row.kind {
        case .count: "n"
        case .yes: "bool"
        case .name: "name"
        case .file: "file"
        case .directory: "dir"
        case .choice: self.key.split(separator: "-").last.map(String.init) ?? self.key
        }
    }
}

extension Option {
    /// The flag of a setting; nil if it is not given, as other sources may give it.
    package init<Argument: ExpressibleByArgument>(_ setting: Setting) where Value == Argument? {
        let row = setting.row
        self.init(
            name: .customLong(setting.key),
            help: ArgumentHelp(
                "\(row.summary) (default: \(row.kind.defaultText))",
                valueName: setting.placeholder
            ),
            completion: row.kind.completion
        )
    }
}
