import Foundation
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

/// The properties of the units in which commands run.
@Suite struct UnitPropertyTests {
    /// What the file says, and what systemd is given: name, D-Bus signature and value.
    private static let told: [(String, String)] = [
        ("CPUWeight: 200", "CPUWeight t 200"), ("CPUWeight: idle", "CPUWeight t 0"),
        ("StartupCPUWeight: 1", "StartupCPUWeight t 1"), ("IOWeight: 10000", "IOWeight t 10000"),
        ("StartupIOWeight: 50", "StartupIOWeight t 50"),
        ("CPUQuota: 20%", "CPUQuotaPerSecUSec t 200000"),
        ("CPUQuota: 150%", "CPUQuotaPerSecUSec t 1500000"),
        ("CPUQuota: 0.5%", "CPUQuotaPerSecUSec t 5000"),
        ("CPUQuotaPeriodSec: 100ms", "CPUQuotaPeriodUSec t 100000"),
        ("MemoryHigh: 1.5G", "MemoryHigh t 1610612736"),
        ("MemoryMax: 200M", "MemoryMax t 209715200"),
        ("MemoryMax: 4096", "MemoryMax t 4096"),
        ("MemoryMax: infinity", "MemoryMax t 18446744073709551615"),
        ("MemoryMax: 50%", "MemoryMaxScale u 2147483648"),
        ("MemoryMax: 100%", "MemoryMaxScale u 4294967295"),
        ("MemoryLow: 0", "MemoryLow t 0"), ("MemoryMin: 1K", "MemoryMin t 1024"),
        ("MemorySwapMax: 0", "MemorySwapMax t 0"), ("TasksMax: 20", "TasksMax t 20"),
        ("TasksMax: 10%", "TasksMaxScale u 429496730"),
        ("CPUAccounting: true", "CPUAccounting b true"),
        ("IOAccounting: no", "IOAccounting b false"), ("IPAccounting: on", "IPAccounting b true"),
        ("MemoryAccounting: yes", "MemoryAccounting b true"),
        ("TasksAccounting: off", "TasksAccounting b false"), ("Delegate: true", "Delegate b true"),
        ("Slice: worker.slice", "Slice s worker.slice"),
        ("DevicePolicy: closed", "DevicePolicy s closed"),
        ("ManagedOOMMemoryPressure: kill", "ManagedOOMMemoryPressure s kill"),
        ("ManagedOOMSwap: auto", "ManagedOOMSwap s auto"),
        ("ManagedOOMPreference: avoid", "ManagedOOMPreference s avoid"),
        ("OOMPolicy: kill", "OOMPolicy s kill"), ("OOMScoreAdjust: -500", "OOMScoreAdjust i -500"),
        ("Nice: 19", "Nice i 19"), ("CPUSchedulingPolicy: batch", "CPUSchedulingPolicy i 3"),
        ("CPUSchedulingPriority: 99", "CPUSchedulingPriority i 99"),
        ("CPUSchedulingResetOnFork: true", "CPUSchedulingResetOnFork b true"),
        ("IOSchedulingClass: idle", "IOSchedulingClass i 3"),
        ("IOSchedulingPriority: 7", "IOSchedulingPriority i 7"),
        ("LimitAS: 1G", "LimitAS t 1073741824, LimitASSoft t 1073741824"),
        ("LimitCORE: 0", "LimitCORE t 0, LimitCORESoft t 0"),
        ("LimitDATA: 1M:2M", "LimitDATA t 2097152, LimitDATASoft t 1048576"),
        ("LimitFSIZE: 1M", "LimitFSIZE t 1048576, LimitFSIZESoft t 1048576"),
        (
            "LimitMEMLOCK: 1M:infinity",
            "LimitMEMLOCK t 18446744073709551615, LimitMEMLOCKSoft t 1048576"
        ),
        ("LimitMSGQUEUE: 1K", "LimitMSGQUEUE t 1024, LimitMSGQUEUESoft t 1024"),
        ("LimitRSS: 1M", "LimitRSS t 1048576, LimitRSSSoft t 1048576"),
        ("LimitSTACK: 8M", "LimitSTACK t 8388608, LimitSTACKSoft t 8388608"),
        ("LimitLOCKS: 5", "LimitLOCKS t 5, LimitLOCKSSoft t 5"),
        ("LimitNOFILE: 1024:4096", "LimitNOFILE t 4096, LimitNOFILESoft t 1024"),
        ("LimitNPROC: 30", "LimitNPROC t 30, LimitNPROCSoft t 30"),
        ("LimitSIGPENDING: 9", "LimitSIGPENDING t 9, LimitSIGPENDINGSoft t 9"),
        ("DynamicUser: true", "DynamicUser b true"),
        ("IgnoreSIGPIPE: false", "IgnoreSIGPIPE b false"),
        ("LockPersonality: true", "LockPersonality b true"),
        ("MemoryDenyWriteExecute: true", "MemoryDenyWriteExecute b true"),
        ("MountAPIVFS: true", "MountAPIVFS b true"),
        ("NoNewPrivileges: true", "NoNewPrivileges b true"),
        ("PrivateDevices: true", "PrivateDevices b true"),
        ("PrivateIPC: true", "PrivateIPC b true"),
        ("PrivateMounts: true", "PrivateMounts b true"),
        ("PrivateNetwork: true", "PrivateNetwork b true"),
        ("PrivateTmp: true", "PrivateTmp b true"), ("PrivateUsers: true", "PrivateUsers b true"),
        ("ProtectClock: true", "ProtectClock b true"),
        ("ProtectControlGroups: true", "ProtectControlGroups b true"),
        ("ProtectHostname: true", "ProtectHostname b true"),
        ("ProtectKernelLogs: true", "ProtectKernelLogs b true"),
        ("ProtectKernelModules: true", "ProtectKernelModules b true"),
        ("ProtectKernelTunables: true", "ProtectKernelTunables b true"),
        ("RemoveIPC: true", "RemoveIPC b true"),
        ("RestrictRealtime: true", "RestrictRealtime b true"),
        ("RestrictSUIDSGID: true", "RestrictSUIDSGID b true"),
        ("ProtectHome: true", "ProtectHome s yes"),
        ("ProtectHome: no", "ProtectHome s no"), ("ProtectHome: tmpfs", "ProtectHome s tmpfs"),
        ("ProtectSystem: strict", "ProtectSystem s strict"),
        ("ProtectProc: invisible", "ProtectProc s invisible"),
        ("ProcSubset: pid", "ProcSubset s pid"), ("KeyringMode: private", "KeyringMode s private"),
        ("ExecPaths: /usr/bin", "ExecPaths as /usr/bin"),
        ("InaccessiblePaths: [/mnt, -/media]", "InaccessiblePaths as /mnt -/media"),
        ("NoExecPaths: /", "NoExecPaths as /"), ("ReadOnlyPaths: []", "ReadOnlyPaths as "),
        ("ReadWritePaths: /var/a  +/var/b", "ReadWritePaths as /var/a +/var/b"),
        ("IPCNamespacePath: /run/ipc", "IPCNamespacePath s /run/ipc"),
        ("NetworkNamespacePath: /run/netns/a", "NetworkNamespacePath s /run/netns/a"),
        ("RootDirectory: /srv/a b", "RootDirectory s /srv/a b"),
        ("CacheDirectory: worker", "CacheDirectory as worker"),
        ("ConfigurationDirectory: [a, b/c]", "ConfigurationDirectory as a b/c"),
        ("LogsDirectory: a", "LogsDirectory as a"), ("StateDirectory: a", "StateDirectory as a"),
        ("SupplementaryGroups: [video, \"44\"]", "SupplementaryGroups as video 44"),
        ("SystemCallArchitectures: native", "SystemCallArchitectures as native"),
        (
            "SystemCallFilter: [\"@system-service\", \"uname:ENOSYS\"]",
            "SystemCallFilter (bas) true @system-service uname:ENOSYS"
        ),
        ("SystemCallFilter: ~@mount @reboot", "SystemCallFilter (bas) false @mount @reboot"),
        (
            "RestrictAddressFamilies: AF_UNIX AF_INET",
            "RestrictAddressFamilies (bas) true AF_UNIX AF_INET"
        ),
        ("RestrictNamespaces: true", "RestrictNamespaces t 0"),
        ("RestrictNamespaces: no", "RestrictNamespaces t 2114060288"),
        ("RestrictNamespaces: [net, ipc]", "RestrictNamespaces t 1207959552"),
        ("RestrictNamespaces: ~user", "RestrictNamespaces t 1845624832"),
        (
            "AmbientCapabilities: CAP_CHOWN CAP_CHECKPOINT_RESTORE",
            "AmbientCapabilities t 1099511627777"
        ),
        ("CapabilityBoundingSet: []", "CapabilityBoundingSet t 0"),
        ("CapabilityBoundingSet: ~CAP_CHOWN", "CapabilityBoundingSet t 18446744073709551614"),
        ("UMask: \"027\"", "UMask u 23"),
    ]

    private func properties(_ command: String, defaults: String = "{}") throws -> [UnitProperty] {
        let machine = try declaration(
            "start: a\ndefaults: \(defaults)\nstates: {a: {run: \(command), final: true}}\n"
        )
        return try #require(machine.states[0].run).command.properties
    }

    @Test(arguments: Self.told)
    func eachIsToldAsSystemdTakesIt(written: String, told: String) throws {
        // In block style, where a value is written as in a unit file.
        let machine = try declaration(
            "start: a\nstates:\n  a:\n    final: true\n    run:\n      command: /bin/a\n      properties:\n        "
                + written + "\n"
        )
        let properties = try #require(machine.states[0].run).command.properties
        #expect(properties.map(\.written).joined(separator: ", ") == told)
    }

    @Test func eachThatTheSchemaHasIsTold() throws {
        let schema = try #require(JSONValue(parsing: DeclarationSchema.text))
        let table = schema["properties"]?["defaults"]?["properties"]?["properties"]?["properties"]
        let names = try #require(table?.members).map(\.key)
        #expect(names.count > 70)
        let told = Set(Self.told.map { $0.0.prefix { $0 != ":" } }.map(String.init))
        #expect(Set(names) == told)
    }

    private static let systemd = "/lib/systemd/systemd"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: Self.systemd)))
    func eachIsCalledAndTypedAsInTheSystemdThatIsInstalled() throws {
        let process = Process()
        process.executableURL = URL(filePath: Self.systemd)
        process.arguments = ["--bus-introspect=org.freedesktop.systemd1.Service"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let xml = String(
            decoding: try output.fileHandleForReading.readToEnd() ?? Data(),
            as: UTF8.self
        )
        process.waitUntilExit()
        try #require(xml.contains("<interface name=\"org.freedesktop.systemd1.Service\""))
        for (_, told) in Self.told {
            for property in told.split(separator: ", ") {
                let words = property.split(separator: " ", omittingEmptySubsequences: false)
                // systemd does not show the property under which a percentage is set.
                if words[0].hasSuffix("Scale") { continue }
                #expect(
                    xml.contains("<property name=\"\(words[0])\" type=\"\(words[1])\""),
                    "\(property)"
                )
            }
        }
    }

    @Test func whatACommandDoesNotSayTheDefaultsSay() throws {
        let properties = try self.properties(
            "{command: /bin/a, properties: {MemoryMax: 50%, LimitNOFILE: 9}}",
            defaults: "{properties: {MemoryMax: 200M, Nice: 5, LimitNOFILE: \"1:2\"}}"
        )
        #expect(
            properties.map(\.written) == [
                "Nice i 5", "MemoryMaxScale u 2147483648", "LimitNOFILE t 9", "LimitNOFILESoft t 9",
            ]
        )
        let hooked = try declaration(
            "start: a\ndefaults: {properties: {Nice: 1}}\nstates: {a: {leave: /bin/a, final: true}}\n"
        )
        #expect(hooked.states[0].leave[0].properties.map(\.written) == ["Nice i 1"])
    }
}

extension UnitProperty {
    fileprivate var written: String {
        switch self.value {
        case .boolean(let value): "\(self.name) b \(value)"
        case .unsigned(let value): "\(self.name) t \(value)"
        case .unsigned32(let value): "\(self.name) u \(value)"
        case .signed(let value): "\(self.name) i \(value)"
        case .text(let value): "\(self.name) s \(value)"
        case .texts(let values): "\(self.name) as \(values.joined(separator: " "))"
        case .filter(let isAllowing, let values):
            "\(self.name) (bas) \(isAllowing) \(values.joined(separator: " "))"
        }
    }
}
