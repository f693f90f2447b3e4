import StateMachineCore
import StateMachineDeclaration
package import Systemd

/// The settings of the unit that a command becomes: systemd.service(5), systemd.exec(5).
extension CommandOrder {
    package var unitSettings: [UnitSetting] {
        self.serviceSettings + self.placeSettings + self.accountSettings + self.timeSettings
            + self.command.properties.map { UnitSetting($0) }
    }

    private var serviceSettings: [UnitSetting] {
        // Dollars are doubled, so that systemd does not put variables' values into words. Its flag
        // for that, in `ExecStartEx`, is stored by 252 in a form that it cannot read back at a
        // reload.
        let program = BusValue.Command(
            self.program,
            words: self.words.map { $0.doublingDollars },
            mayFail: false
        )
        return [
            UnitSetting("Description", .text(self.title)),
            // Makes the start of a program that cannot be executed fail at once.
            UnitSetting("Type", .text("exec")),
            UnitSetting("ExecStart", .commands([program])),
            // Keeps its end readable until it is forgotten.
            UnitSetting("RemainAfterExit", .boolean(true)),
            UnitSetting("StartLimitIntervalUSec", .unsigned(0)),
            UnitSetting("StandardInput", .text("data")),
            UnitSetting("StandardInputData", .bytes(self.input)),
            // A pipe's writer ends when its reader goes, as in a shell.
            UnitSetting("IgnoreSIGPIPE", .boolean(false)),
            UnitSetting("LogExtraFields", .byteTexts(self.name.logFields.map { Array($0.utf8) })),
        ]
    }

    private var placeSettings: [UnitSetting] {
        var settings = [
            UnitSetting("WorkingDirectory", .text(self.command.directory)),
            UnitSetting(
                "Environment",
                .texts(self.environment.map { "\($0.name)=\($0.value)" })
            ),
            // When the machine goes down, the daemon stays until the commands have ended.
            UnitSetting("After", .texts([self.name.label.daemonUnit])),
        ]
        if let path = self.command.environmentFile {
            let mayBeMissing = path.hasPrefix("-")
            let file = mayBeMissing ? String(path.dropFirst()) : path
            settings.append(
                UnitSetting("EnvironmentFiles", .files([.init(file, mayBeMissing: mayBeMissing)]))
            )
        }
        return settings
    }

    private var accountSettings: [UnitSetting] {
        [("User", self.command.user), ("Group", self.command.group)].compactMap { name, account in
            account.map { UnitSetting(name, .text($0)) }
        }
    }

    private var timeSettings: [UnitSetting] {
        var settings = [UnitSetting("TimeoutStopUSec", .unsigned(self.command.stop.microseconds))]
        if let timeout = self.command.timeout {
            settings.append(UnitSetting("RuntimeMaxUSec", .unsigned(timeout.microseconds)))
        }
        return settings
    }

    /// What is executed: a relative path with a slash starts at the command's directory, and a mere
    /// name is looked up by systemd.
    private var program: String {
        let word = self.words.first ?? ""
        guard word.contains("/"), !word.hasPrefix("/") else { return word }
        let directory = self.command.directory
        return directory.hasSuffix("/") ? directory + word : "\(directory)/\(word)"
    }
}

extension MachineLabel {
    /// The unit of the daemon that has the machine.
    fileprivate var daemonUnit: String {
        self.instance.map { "statemachine@\($0).service" } ?? "statemachine.service"
    }
}

extension String {
    fileprivate var doublingDollars: String {
        String(
            decoding: self.utf8.flatMap { $0 == UInt8(ascii: "$") ? [$0, $0] : [$0] },
            as: UTF8.self
        )
    }
}

extension Duration {
    fileprivate var microseconds: UInt64 {
        let (seconds, attoseconds) = self.components
        return UInt64(clamping: seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }
}
