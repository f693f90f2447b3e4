import StateMachineDeclaration
import Testing

/// The properties of the units in which commands run: systemd judges them, and this only takes them as they are.
@Suite struct UnitPropertyTests {
    private func properties(_ command: String, defaults: String = "{}") throws -> [String] {
        let machine = try declaration(
            "start: a\ndefaults: \(defaults)\nstates: {a: {run: \(command), final: true}}\n"
        )
        return try #require(machine.states[0].run).command.properties
            .map { "\($0.name)=\($0.value)" }
    }

    @Test(arguments: [
        ("CPUQuota: 20%", "CPUQuota=20%"), ("MemoryMax: 1.5G", "MemoryMax=1.5G"),
        ("PrivateTmp: yes", "PrivateTmp=yes"), ("UMask: 0077", "UMask=0077"),
        ("LimitNOFILE: 1024:4096", "LimitNOFILE=1024:4096"), ("Unheard: 1", "Unheard=1"),
        ("CapabilityBoundingSet:", "CapabilityBoundingSet="), ("ExecPaths: []", "ExecPaths="),
        ("SystemCallFilter: ~@mount @swap", "SystemCallFilter=~@mount @swap"),
        ("SystemCallFilter: [~@mount, '@swap']", "SystemCallFilter=~@mount @swap"),
        (#"ReadWritePaths: ["/a b", '/c"d', /e]"#, #"ReadWritePaths="/a b" "/c\"d" /e"#),
    ])
    func eachIsTakenAsItIsWritten(_ written: String, _ taken: String) throws {
        // In block style, where a value is written as in a unit file.
        let machine = try declaration(
            "start: a\nstates:\n  a:\n    final: true\n    run:\n      command: /bin/a\n      properties:\n        "
                + written + "\n"
        )
        let properties = try #require(machine.states[0].run).command.properties
        #expect(properties.map { "\($0.name)=\($0.value)" } == [taken])
    }

    @Test func whatACommandDoesNotSayTheDefaultsSay() throws {
        let properties = try self.properties(
            "{command: /bin/a, properties: {MemoryMax: 50%, LimitNOFILE: 9}}",
            defaults: "{properties: {MemoryMax: 200M, Nice: 5, LimitNOFILE: \"1:2\"}}"
        )
        #expect(properties == ["Nice=5", "MemoryMax=50%", "LimitNOFILE=9"])
    }
}
