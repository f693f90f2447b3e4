import StateMachineCore
import StateMachineProtocol
import StateMachineServer

extension Settings {
    /// The settings in force, in the form of the configuration file, each line with its origin.
    ///
    /// - Throws: `DaemonError` if nothing says where the sockets are to be.
    func report(
        environment: [String: String],
        isRoot: Bool
    ) throws(DaemonError) -> String {
        var lines: [(text: String, origin: String)] = []
        for setting in self.front.settings {
            if let value = self.values[setting] {
                lines.append(("\(setting.key): \(value.value.yaml)", "\(value.origin)"))
            } else if setting == .runtimeDirectory {
                let path = try RuntimeDirectory.ofDaemon(
                    environment: { environment[$0] },
                    isRoot: isRoot
                ).path
                let isOfSystemd = RuntimeDirectory.ofService { environment[$0] } != nil
                lines.append(
                    (
                        "\(setting.key): \(path.yaml)",
                        isOfSystemd ? "RUNTIME_DIRECTORY of systemd" : "\(SettingOrigin.builtIn)"
                    )
                )
            } else if setting == .stateDirectory, let path = Self.ofSystemd(environment) {
                lines.append(("\(setting.key): \(path.yaml)", "STATE_DIRECTORY of systemd"))
            }
        }
        let width = lines.map(\.text.count).max() ?? 0
        return lines.map { line in
            let gap = String(repeating: " ", count: width - line.text.count)
            return "\(line.text)\(gap)  # \(line.origin.printable)\n"
        }.joined()
    }
}
