import FoundationEssentials
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
package import Systemd

/// A command as a unit: how systemd-run(1) starts it.
///
/// That program reads properties as unit files have them, and says what is wrong with one.
extension CommandOrder {
    /// The words after the program's name; `ofUser`: the manager is a user's.
    package func systemdRun(ofUser: Bool) -> [String] {
        var words = ["--quiet", "--no-block", "--no-ask-password"]
        if ofUser { words.append("--user") }
        words += [
            "--unit=\(self.name.unit)", "--description=\(self.title)",
            // Makes the start of a program that cannot be executed fail at once.
            "--service-type=exec",
            // Keeps its end readable until it is forgotten.
            "--remain-after-exit", "--working-directory=\(self.command.directory)",
        ]
        words += self.command.user.map { ["--uid=\($0)"] } ?? []
        words += self.command.group.map { ["--gid=\($0)"] } ?? []
        words += self.environment.map { "--setenv=\($0.name)=\($0.value)" }
        words += self.properties.map { "--property=\($0)" }
        // systemd puts variables' values into words where there is a dollar that is not doubled.
        return words + ["--", self.program]
            + self.words.dropFirst().map { $0.replacing("$", with: "$$") }
    }

    /// As unit files have them; those that the file declares come last, so that they take precedence.
    private var properties: [String] {
        var properties = [
            "StartLimitIntervalSec=0", "StandardInput=data",
            // A pipe's writer ends when its reader goes, as in a shell.
            "IgnoreSIGPIPE=no",
            // When the machine goes down, the daemon stays until the commands have ended.
            "After=\(self.name.label.daemonUnit)",
            "TimeoutStopSec=\(self.command.stop.unitText)",
        ]
        properties += stride(from: 0, to: self.input.count, by: Self.pieceBytes).map { start in
            let piece = Data(self.input[start...].prefix(Self.pieceBytes))
            return "StandardInputData=\(piece.base64EncodedString())"
        }
        properties += self.name.logFields.map { "LogExtraFields=\($0)" }
        properties += self.command.timeout.map { ["RuntimeMaxSec=\($0.unitText)"] } ?? []
        properties += self.command.environmentFile.map { ["EnvironmentFile=\($0)"] } ?? []
        return properties + self.command.properties.map { "\($0.name)=\($0.value)" }
    }

    /// Bytes of its input in one property.
    ///
    /// 48 KiB: 64 KiB as text, half of what the kernel takes for a word (execve(2)); a multiple of three.
    private static let pieceBytes = 48 << 10

    /// What is executed: a relative path with a slash starts at the command's directory, and a mere
    /// name is looked up by systemd-run.
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

extension Duration {
    /// As systemd.time(7) has it.
    fileprivate var unitText: String { "\(self.wholeMilliseconds)ms" }
}

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

/// How a command ended, as systemd reports it for its unit.
extension CommandEnd {
    /// - Parameter service: of a unit that nobody had stopped.
    package init(_ service: ServiceProcess) {
        let duration = max(.zero, service.ended - service.started)
        switch (service.result, service.end) {
        case ("timeout", _): self.init(.timeout, duration: duration)
        // The kernel may have taken another process than the main one, which then ended as it liked.
        case ("oom-kill", _): self.init(.signal("SIGKILL"), duration: duration)
        case (_, .exited(let code)): self.init(.exit(code), duration: duration)
        case (_, .killed(let signal)):
            self.init(.signal(SignalName.of(CInt(signal))), duration: duration)
        // There never was a process: a file of variables is missing, or there is no memory.
        case (_, .none): self.init(.exit(Self.notExecuted), duration: duration)
        }
    }

    /// The status of a program that could not be executed: systemd.exec(5), `EXIT_EXEC`.
    static let notExecuted = 203
}
