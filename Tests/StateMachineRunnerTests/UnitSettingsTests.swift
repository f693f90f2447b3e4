import StateMachineDeclaration
import StateMachineRunner
import Systemd
import Testing

/// What systemd is told about a command, and what it reports.
struct UnitSettingsTests {
    private let label = MachineLabel(
        machine: "kiosk",
        instance: nil,
        directory: "/run/statemachine"
    )

    private func order(
        _ words: [String],
        _ keys: String = "",
        label: MachineLabel = MachineLabel(
            machine: "kiosk",
            instance: nil,
            directory: "/run/statemachine"
        )
    ) throws -> CommandOrder {
        let text = """
            start: menu
            states:
              menu:
                run: {command: unused\(keys)}
                done: menu
            """
        let declaration = try #require(DeclarationReading(Array(text.utf8)).declaration)
        let command = try #require(declaration.states[0].run).command
        return CommandOrder(
            CommandName(label, state: "menu", .run, seq: 17),
            title: "kiosk: run of menu",
            words: words,
            input: Array("{}\n".utf8),
            environment: command.environment,
            command: command
        )
    }

    private func values(of order: CommandOrder) -> [String: BusValue] {
        Dictionary(order.unitSettings.map { ($0.name, $0.value) }) { _, last in last }
    }

    @Test
    func wordsAreWhatTheyAre() throws {
        let words = ["/usr/bin/play", "--", "a b $HOME ${PATH} $$ %h \"'\n"]
        let values = try self.values(of: self.order(words))
        #expect(
            values["ExecStart"]
                == .commands([
                    .init(
                        words[0],
                        words: ["/usr/bin/play", "--", "a b $$HOME $${PATH} $$$$ %h \"'\n"],
                        mayFail: false
                    )
                ])
        )
        #expect(values["StandardInputData"] == .bytes(Array("{}\n".utf8)))
        #expect(values["RemainAfterExit"] == .boolean(true))
        #expect(values["TimeoutStopUSec"] == .unsigned(10_000_000))
        // What is not declared is left to systemd.
        for name in ["User", "Group", "RuntimeMaxUSec", "EnvironmentFiles"] {
            #expect(values[name] == nil)
        }
    }

    @Test
    func whatIsDeclaredIsPassedOn() throws {
        let keys = """
            , user: kiosk, group: video, timeout: 1min, stop: 500ms, directory: /srv,
                  environment: {A: b c, B: $X}, environment-file: /etc/kiosk.env
            """
        let values = try self.values(of: self.order(["play"], keys))
        #expect(values["User"] == .text("kiosk"))
        #expect(values["Group"] == .text("video"))
        #expect(values["RuntimeMaxUSec"] == .unsigned(60_000_000))
        #expect(values["TimeoutStopUSec"] == .unsigned(500_000))
        #expect(values["WorkingDirectory"] == .text("/srv"))
        #expect(values["Environment"] == .texts(["A=b c", "B=$X"]))
        #expect(
            values["EnvironmentFiles"] == .files([.init("/etc/kiosk.env", mayBeMissing: false)])
        )
    }

    /// Declared unit properties come last, so that they take precedence.
    @Test
    func propertiesArePassedOn() throws {
        let keys = """
            , properties: {MemoryMax: 64K, Nice: -5, PrivateTmp: true, Slice: kiosk.slice, UMask: 0077,
                  SupplementaryGroups: [video], SystemCallFilter: ["~@mount"]}
            """
        let settings = try self.order(["play"], keys).unitSettings.suffix(7)
        let expected: [UnitSetting] = [
            UnitSetting("MemoryMax", .unsigned(65_536)), UnitSetting("Nice", .signed(-5)),
            UnitSetting("PrivateTmp", .boolean(true)), UnitSetting("Slice", .text("kiosk.slice")),
            UnitSetting("UMask", .unsigned32(0o77)),
            UnitSetting("SupplementaryGroups", .texts(["video"])),
            UnitSetting("SystemCallFilter", .filter(isAllowing: false, ["@mount"])),
        ]
        #expect(Set(settings) == Set(expected))
    }

    /// systemd accepts a name or an absolute path, nothing else.
    @Test(arguments: [
        ("play", "/srv", "play"), ("/bin/play", "/srv", "/bin/play"),
        ("./play", "/srv", "/srv/./play"), ("bin/play", "/", "/bin/play"),
    ])
    func programs(_ word: String, _ directory: String, _ program: String) throws {
        let order = try self.order([word], ", directory: \(directory)")
        #expect(
            self.values(of: order)["ExecStart"]
                == .commands([.init(program, words: [word], mayFail: false)])
        )
    }

    @Test
    func aCommandEndsBeforeItsDaemonWhenTheMachineGoesDown() throws {
        #expect(
            try self.values(of: self.order(["x"]))["After"] == .texts(["statemachine.service"])
        )
        let hall = MachineLabel(machine: "kiosk", instance: "hall", directory: "/run/statemachine")
        #expect(
            try self.values(of: self.order(["x"], label: hall))["After"]
                == .texts(["statemachine@hall.service"])
        )
    }

    @Test
    func whatWouldBeCutOffIsNotExecuted() throws {
        #expect(try self.order(["play", "a b"]).isSound)
        #expect(try !self.order(["play", "a\0b"]).isSound)
        #expect(try !self.order([""]).isSound)
    }

    @Test(arguments: [CommandName.Key.run, .enter(2), .leave(12)])
    func namesComeBackFromTheJournalsFields(_ key: CommandName.Key) {
        // `statemachine-kiosk-a-b-run-1` may belong to "kiosk" or to "kiosk-a".
        let name = CommandName(self.label, state: "a-b", key, seq: .max)
        #expect(CommandName(self.label, logFields: name.logFields) == name)
        let other = MachineLabel(machine: "kiosk-a", instance: nil, directory: "/run/statemachine")
        #expect(CommandName(other, logFields: name.logFields) == nil)
        #expect(CommandName(self.label, logFields: []) == nil)
    }

    @Test(arguments: [
        ("success", ServiceProcess.End.exited(0), CommandEnd.Kind.exit(0)),
        ("exit-code", .exited(21), .exit(21)),
        ("exit-code", .exited(203), .exit(203)),
        ("signal", .killed(signal: 9), .signal("SIGKILL")),
        ("core-dump", .killed(signal: 6), .signal("SIGABRT")),
        ("success", .killed(signal: 15), .signal("SIGTERM")),
        // Whatever it did with the signal that told it that its time was over.
        ("timeout", .exited(0), .timeout),
        ("timeout", .killed(signal: 9), .timeout),
        // It may have succeeded although another of its processes was killed.
        ("oom-kill", .exited(0), .signal("SIGKILL")),
        ("resources", .none, .exit(203)),
    ])
    func ends(_ result: String, _ end: ServiceProcess.End, _ kind: CommandEnd.Kind) {
        let process = ServiceProcess(
            result: result,
            end: end,
            started: .seconds(5),
            ended: .milliseconds(5500)
        )
        #expect(CommandEnd(process) == CommandEnd(kind, duration: .milliseconds(500)))
    }
}
