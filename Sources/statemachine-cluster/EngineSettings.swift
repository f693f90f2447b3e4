#if Cluster
import Glibc
import Processes
import StateMachineEmbedding
import StateMachineEtcd
import StateMachineProtocol

/// How a machine is shared, by the settings.
enum EngineSettings {
    /// Reads them, and the files that they name.
    ///
    /// - Parameters:
    ///   - settings: the settings, among which is where etcd is.
    ///   - machine: the name that the machine's file has for it; nil: none.
    /// - Returns: what they come to.
    /// - Throws: `ConfigurationError` with all that is wrong.
    static func read(
        _ settings: Settings,
        of machine: String?
    ) throws(ConfigurationError) -> SharedRecording.Settings {
        var problems = Self.misfits(settings)
        func read<Value>(_ body: () throws(SettingError) -> Value) -> Value? {
            do throws(SettingError) {
                return try body()
            } catch {
                problems.append(error.description)
                return nil
            }
        }
        let endpoints = read { () throws(SettingError) in
            try EtcdEndpoint.list(
                settings.text(.engineEndpoints) ?? "",
                isInsecure: settings.isOn(.engineInsecure)
            )
        }
        let credentials = read { () throws(SettingError) in try Self.credentials(settings) }
        if Self.file(.engineCA, settings) == nil, endpoints?.contains(where: \.isEncrypted) == true
        {
            problems.append(
                "engine-endpoints has https://, and engine-ca is not set; set it to the authority of etcd's certificates"
            )
        }
        if settings.text(.engineCA) == nil,
            let idle = [Setting.engineCertificate, .engineKey].first(where: settings.isGiven)
        {
            problems.append(
                "\(settings.named(idle)) is set, and engine-ca is not, so that nothing is encrypted; set that too, or remove it"
            )
        }
        let name = settings.text(.engineMachine) ?? settings.text(.instance) ?? machine
        if name == nil {
            problems.append(
                "the machine has no name among its hosts; set engine-machine, or write \"machine: NAME\" in its file"
            )
        } else if let name, !name.isEngineKey(longest: 64) {
            problems.append(
                "the machine's name \"\(name)\" cannot be its name among its hosts; "
                    + "set engine-machine to a word of letters, digits and any of - _ . of at most 64 characters"
            )
        }
        let host = settings.text(.host) ?? HostName.current
        if !host.isEngineKey(longest: 253) {
            problems.append(
                "this host's name \"\(host)\" cannot be its name among the machine's hosts; set host to another"
            )
        }
        guard problems.isEmpty, let endpoints, let name else { throw ConfigurationError(problems) }
        var shared = SharedRecording.Settings(
            endpoints,
            credentials ?? nil,
            machine: name,
            host: host
        )
        shared.timeToLive = settings.time(.sessionTTL) ?? shared.timeToLive
        shared.checkInterval = settings.time(.checkInterval) ?? shared.checkInterval
        shared.staleAfter = settings.time(.staleAfter) ?? shared.staleAfter
        shared.callTimeout = settings.time(.callTimeout) ?? shared.callTimeout
        shared.setTimeout = settings.time(.setTimeout) ?? shared.setTimeout
        return shared
    }

    /// What does not fit of the times.
    private static func misfits(_ settings: Settings) -> [String] {
        func time(_ setting: Setting) -> Duration { settings.time(setting) ?? .zero }
        func misfit(_ isFitting: Bool, _ sentence: String) -> String? {
            isFitting ? nil : sentence
        }
        func named(_ setting: Setting) -> String { settings.named(setting) }
        return [
            misfit(
                time(.checkInterval) < time(.staleAfter),
                "\(named(.checkInterval)) has to be less than \(named(.staleAfter))"
            ),
            misfit(
                time(.staleAfter) < time(.sessionTTL) - .seconds(1),
                "\(named(.staleAfter)) has to be less than \(named(.sessionTTL)) less 1s"
            ),
            misfit(
                time(.callTimeout) <= time(.staleAfter),
                "\(named(.callTimeout)) may not be more than \(named(.staleAfter))"
            ),
            misfit(
                time(.setTimeout) >= time(.callTimeout),
                "\(named(.setTimeout)) may not be less than \(named(.callTimeout))"
            ),
        ].compactMap(\.self)
    }

    /// Whom to trust, and who this host is; nil: nothing is encrypted.
    private static func credentials(
        _ settings: Settings
    ) throws(SettingError) -> EtcdCredentials? {
        guard let authority = Self.file(.engineCA, settings) else { return nil }
        return try EtcdCredentials(
            authority: authority,
            certificate: Self.file(.engineCertificate, settings),
            key: Self.file(.engineKey, settings)
        )
    }

    /// The file that is set, else the credential of the setting's name that systemd has handed over; nil: there is none.
    private static func file(_ setting: Setting, _ settings: Settings) -> String? {
        if let path = settings.text(setting) { return path }
        guard let directory = getenv("CREDENTIALS_DIRECTORY") else { return nil }
        let path = "\(String(cString: directory))/\(setting.key)"
        return access(path, F_OK) == 0 ? path : nil
    }
}
#endif
