package import ArgumentParser
import StateMachineCore
import StateMachineProtocol

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
    case keepBytes = "keep-bytes"
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
    case engineEndpoints = "engine-endpoints"
    case engineCA = "engine-ca"
    case engineCertificate = "engine-certificate"
    case engineKey = "engine-key"
    case engineMachine = "engine-machine"
    case engineInsecure = "engine-insecure"
    case host
    case sessionTTL = "session-ttl"
    case checkInterval = "check-interval"
    case staleAfter = "stale-after"
    case callTimeout = "call-timeout"
    case setTimeout = "set-timeout"

    /// What only statemachine-cluster has: how several hosts share the machine.
    package static let ofSharing: [Setting] = [
        .engineEndpoints, .engineCA, .engineCertificate, .engineKey, .engineMachine,
        .engineInsecure, .host, .sessionTTL, .checkInterval, .staleAfter, .callTimeout,
        .setTimeout,
    ]

    /// What every other daemon has for a machine that a file declares.
    package static let ofOneHost = allCases.filter { !ofSharing.contains($0) }

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
        case .time: "time"
        case .list: "list"
        case .name, .key: "name"
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

extension ProgramProfile {
    /// A sentence about a name that is not a key, with the key that may have been meant.
    func unknownKey(_ name: String) -> String {
        if let setting = Setting(rawValue: name), Setting.ofSharing.contains(setting) {
            return self.needsPackage(setting, called: name)
        }
        if Setting(rawValue: name) != nil {
            return
                "\(name) is a setting of the daemon statemachine: \(self.name) has its states built in, and reads no machine's file; remove it"
        }
        let keys = self.settings.map(\.key)
        return "there is no setting \"\(name)\"; "
            + (NearestName.of(name, among: keys).map { "did you mean \($0)?" }
                ?? "known: \(keys.joined(separator: ", "))")
    }
}

extension ProgramProfile {
    /// A sentence about a setting of a machine that several hosts share, which this program does not serve.
    func needsPackage(_ setting: Setting, called name: String) -> String {
        self.settings.contains(.machine)
            ? "\(name) is a setting of the program statemachine-cluster; install the package statemachine-cluster, or remove it"
            : "\(name) is a setting of the program statemachine-cluster: \(self.name) has its states built in, and cannot share them; remove it"
    }
}

extension Setting {
    /// What a value must be, and its default.
    enum Kind {
        case count(ClosedRange<Int>, default: Int)
        /// True if given; false by default.
        case yes
        case choice([String], default: String)
        /// The default is in words: it depends on who starts the daemon.
        case directory(default: String)
        /// The same for a file.
        case file(default: String)
        /// What may stand in a file's name; there is no default.
        case name
        /// What may stand in a key of the engine, up to so many characters; the default is in words.
        case key(longest: Int, default: String)
        /// A time, between those.
        case time(ClosedRange<Duration>, default: Duration)
        /// Several words, with commas between them; there is no default.
        case list

        /// The value of an environment variable, which is always text.
        func value(of text: String) -> SettingValue {
            switch self {
            case .count: Int(text).map { .number($0) } ?? .other(text)
            case .yes:
                switch text.lowercased() {
                case "true", "yes", "1": .flag(true)
                case "false", "no", "0": .flag(false)
                default: .other(text)
                }
            case .choice, .directory, .file, .name, .key, .time, .list: .text(text)
            }
        }

        /// What a value must be, to go after "must be".
        var expected: String {
            switch self {
            case .count(let range, _):
                "a whole number from \(range.lowerBound) to \(range.upperBound)"
            case .yes: "true or false"
            case .choice(let values, _): "one of \(values.joined(separator: ", "))"
            case .directory, .file: "a path"
            case .name: "a word of letters, digits and any of - _ . : @"
            case .key(let longest, _):
                "a word of letters, digits and any of - _ . of at most \(longest) characters"
            case .time(let range, _):
                "a time from \(range.lowerBound.timeText) to \(range.upperBound.timeText), such as \(range.lowerBound.timeText)"
            case .list: "one or several, with commas between them"
            }
        }

        /// The default, for people.
        var defaultText: String {
            switch self {
            case .count(_, let value): "\(value)"
            case .yes: "false"
            case .choice(_, let value), .directory(let value), .file(let value),
                .key(_, let value):
                value
            case .time(_, let value): value.timeText
            case .name, .list: "none"
            }
        }

        /// The default as a value; nil where it is only known once the daemon starts.
        var defaultValue: SettingValue? {
            switch self {
            case .count(_, let value): .number(value)
            case .yes: .flag(false)
            case .choice(_, let value): .text(value)
            case .time(_, let value): .text(value.timeText)
            case .directory, .file, .name, .key, .list: nil
            }
        }

        var completion: CompletionKind? {
            switch self {
            case .count, .yes, .name, .key, .time, .list: nil
            case .choice(let values, _): .list(values)
            case .directory: .directory
            case .file: .file()
            }
        }

        /// Whether a value of the right type is also in range.
        func admits(_ value: SettingValue) -> Bool {
            switch (self, value) {
            case (.count(let range, _), .number(let value)): range.contains(value)
            case (.choice(let values, _), .text(let value)): values.contains(value)
            case (.directory, .text(let value)), (.file, .text(let value)): !value.isEmpty
            case (.name, .text(let value)): value.isInstanceName
            case (.key(let longest, _), .text(let value)):
                value.isEngineKey(longest: longest)
            case (.time(let range, _), .text(let value)):
                (try? TimeText.duration(value)).map(range.contains) ?? false
            case (.list, .text(let value)): !value.isEmpty
            case (.yes, .flag): true
            case (_, .text), (_, .number), (_, .flag), (_, .other): false
            }
        }
    }
}

extension String {
    /// Whether it can be the instance of a template unit, and a part of a file's name.
    fileprivate var isInstanceName: Bool {
        !self.isEmpty && self.first != "."
            && self.unicodeScalars.allSatisfy {
                $0.isASCII && $0.properties.isAlphabetic
                    || "0123456789-_.:@\\".unicodeScalars.contains($0)
            }
    }
}

extension String {
    /// Whether it can be a part of one of the engine's keys.
    package func isEngineKey(longest: Int) -> Bool {
        (1...longest).contains(self.utf8.count) && self.utf8.first != UInt8(ascii: ".")
            && self.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"):
                    true
                default: "-_.".utf8.contains(byte)
                }
            }
    }
}

/// A value that a source gives a setting.
package enum SettingValue: Hashable, Sendable {
    case text(String)
    case number(Int)
    case flag(Bool)
    /// A value of a type that no setting has, as it was written.
    case other(String)

    /// The value as a person would write it.
    package var text: String {
        switch self {
        case .text(let value), .other(let value): value
        case .number(let value): "\(value)"
        case .flag(let value): "\(value)"
        }
    }

    /// The value as it stands in a configuration file.
    var yaml: String {
        guard case .text(let value) = self else { return self.text }
        return value.yaml
    }
}

extension String {
    /// The text as a YAML scalar, quoted where it has to be.
    var yaml: String {
        let isPlain = self.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0))
        }
        guard !self.unicodeScalars.contains(where: \.isUnprintable) else { return self.escaped }
        return isPlain ? self : "'\(self.replacing("'", with: "''"))'"
    }
    /// The text in YAML's double quotes, which can spell out what a terminal would interpret.
    private var escaped: String {
        var text = "\""
        for scalar in self.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.isUnprintable:
                let (letter, count) = scalar.value > 0xffff ? ("U", 8) : ("u", 4)
                text += "\\\(letter)\(scalar.value.digits(count, radix: 16).uppercased())"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

/// Where a value came from.
package enum SettingOrigin: Hashable, CustomStringConvertible {
    case flag
    case environment(String)
    case file(path: String, line: Int)
    case builtIn

    package var description: String {
        switch self {
        case .flag: "flag"
        case .environment(let variable): variable
        case .file(let path, let line): "\(path):\(line)"
        case .builtIn: "default"
        }
    }
    /// What an error calls the setting that was given there.
    func name(of setting: Setting) -> String {
        switch self {
        case .flag: setting.flag
        case .environment(let variable): variable
        case .file: "\(self): \(setting.key)"
        case .builtIn: setting.key
        }
    }
}
