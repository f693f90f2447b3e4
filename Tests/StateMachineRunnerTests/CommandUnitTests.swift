import Foundation
import StateMachineDeclaration
import StateMachineProtocol
import Systemd
import Testing

@testable import StateMachineRunner

/// How systemd-run is to start a command, and what systemd reports of it.
struct CommandUnitTests {
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
            name: CommandName(label, state: "menu", .run, seq: 17),
            title: "kiosk: run of menu",
            words: words,
            input: Array("{}\n".utf8),
            environment: command.environment,
            command: command
        )
    }

    private func words(of order: CommandOrder, _ prefix: String = "--property=") -> [String] {
        order.systemdRun(ofUser: false).prefix { $0 != "--" }.filter { $0.hasPrefix(prefix) }
            .map { String($0.dropFirst(prefix.count)) }
    }

    @Test func wordsAreWhatTheyAre() throws {
        let words = ["/usr/bin/play", "--", "a b $HOME ${PATH} $$ %h \"'\n"]
        let order = try self.order(words)
        let all = order.systemdRun(ofUser: false)
        #expect(
            all.suffix(4) == ["--", "/usr/bin/play", "--", "a b $$HOME $${PATH} $$$$ %h \"'\n"]
        )
        #expect(all.contains("--remain-after-exit") && all.contains("--service-type=exec"))
        #expect(!all.contains("--user") && order.systemdRun(ofUser: true).contains("--user"))
        let properties = self.words(of: order)
        #expect(properties.contains("StandardInputData=e30K"))
        #expect(properties.contains("TimeoutStopSec=10000ms"))
        // What is not declared is left to systemd.
        for name in ["RuntimeMaxSec=", "EnvironmentFile="] {
            #expect(!properties.contains { $0.hasPrefix(name) })
        }
        #expect(!all.contains { $0.hasPrefix("--uid") || $0.hasPrefix("--gid") })
    }

    @Test func whatIsDeclaredIsPassedOn() throws {
        let keys = """
            , user: kiosk, group: video, timeout: 1min, stop: 500ms, directory: /srv,
                  environment: {A: b c, B: $X}, environment-file: -/etc/kiosk.env
            """
        let order = try self.order(["play"], keys)
        #expect(self.words(of: order, "--uid=") == ["kiosk"])
        #expect(self.words(of: order, "--gid=") == ["video"])
        #expect(self.words(of: order, "--working-directory=") == ["/srv"])
        #expect(self.words(of: order, "--setenv=") == ["A=b c", "B=$X"])
        let properties = self.words(of: order)
        #expect(properties.contains("RuntimeMaxSec=60000ms"))
        #expect(properties.contains("TimeoutStopSec=500ms"))
        #expect(properties.contains("EnvironmentFile=-/etc/kiosk.env"))
    }

    /// Declared unit properties come last, so that they take precedence.
    @Test func propertiesArePassedOnAsTheyAreWritten() throws {
        let keys = """
            , properties: {MemoryMax: 64K, Nice: -5, PrivateTmp: true, Slice: kiosk.slice, UMask: 0077,
                  SupplementaryGroups: [video], SystemCallFilter: ["~@mount", "@swap"]}
            """
        #expect(
            try self.words(of: self.order(["play"], keys)).suffix(7) == [
                "MemoryMax=64K", "Nice=-5", "PrivateTmp=true", "Slice=kiosk.slice", "UMask=0077",
                "SupplementaryGroups=video", "SystemCallFilter=~@mount @swap",
            ]
        )
    }

    /// The kernel takes no word of any length.
    @Test(arguments: [0, 1, 2, 3, 49_152, 49_153, 200_000])
    func aLongInputIsGivenInPieces(_ count: Int) throws {
        let short = try self.order(["play"])
        let input = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let order = CommandOrder(
            name: short.name,
            title: short.title,
            words: short.words,
            input: input,
            environment: [],
            command: short.command
        )
        let pieces = self.words(of: order, "--property=StandardInputData=")
        #expect(pieces.allSatisfy { $0.utf8.count <= 65_536 })
        #expect(pieces.flatMap { Data(base64Encoded: $0).map(Array.init) ?? [] } == input)
    }

    /// systemd accepts a name or an absolute path, nothing else.
    @Test(arguments: [
        ("play", "/srv", "play"), ("/bin/play", "/srv", "/bin/play"),
        ("./play", "/srv", "/srv/./play"), ("bin/play", "/", "/bin/play"),
    ])
    func programs(_ word: String, _ directory: String, _ program: String) throws {
        let order = try self.order([word], ", directory: \(directory)")
        #expect(order.systemdRun(ofUser: false).suffix(2) == ["--", program])
    }

    @Test func aCommandEndsBeforeItsDaemonWhenTheMachineGoesDown() throws {
        #expect(try self.words(of: self.order(["x"])).contains("After=statemachine.service"))
        let hall = MachineLabel(machine: "kiosk", instance: "hall", directory: "/run/statemachine")
        #expect(
            try self.words(of: self.order(["x"], label: hall))
                .contains("After=statemachine@hall.service")
        )
    }

    @Test func whatWouldBeCutOffIsNotExecuted() throws {
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
        ("success", ServiceProcess.End.exited(0), RunEnd.exit(0)),
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
    func ends(_ result: String, _ end: ServiceProcess.End, _ kind: RunEnd) {
        let process = ServiceProcess(
            result: result,
            end: end,
            started: .seconds(5),
            ended: .milliseconds(5500)
        )
        #expect(CommandEnd(process) == CommandEnd(kind, duration: .milliseconds(500)))
    }

    @Test(arguments: [
        (nil, CommandName.Key.run, "statemachine-kiosk-menu-run-17"),
        ("hall", .enter(2), "statemachine-kiosk:hall-menu-enter-2-17"),
        (nil, .leave(1), "statemachine-kiosk-menu-leave-1-17"),
    ])
    func names(_ instance: String?, _ key: CommandName.Key, _ name: String) {
        let label = MachineLabel(
            machine: "kiosk",
            instance: instance,
            directory: "/run/statemachine"
        )
        #expect(CommandName(label, state: "menu", key, seq: 17).description == name)
    }

    private func variables(_ bytes: [UInt8]) -> [String]? {
        EnvironmentFile(bytes)?.variables.map { "\($0.name)=\($0.value)" }
    }

    @Test(arguments: [
        ("A=1\nB=2", ["A=1", "B=2"]),
        ("A=1\r\nB=2\r\n", ["A=1", "B=2"]),
        ("# c\n; d\n\n  A = 1 2 \t\nno value\nB=", ["A=1 2", "B="]),
        ("A='a b'\nB=\"c d\" \"e\"\nC=f'g'", ["A=a b", "B=c de", "C=f'g'"]),
        ("A=\"one\ntwo\"\nB='x\ny'\n", ["A=one\ntwo", "B=x\ny"]),
        ("A=one\\\ntwo\nB=\"1\\\n2\"\nC=3", ["A=onetwo", "B=12", "C=3"]),
        (
            #"A=a\ b\\"# + "\n" + #"B="\"\$\`\\\n""# + "\n" + #"C='\n'"#,
            [#"A=a b\"#, #"B="$`\\n"#, #"C=\n"#]
        ),
        ("A=x\\  \nB=y  z  ", ["A=x ", "B=y  z"]),
        // The end of a comment is the end of its line.
        ("# one\\\nA=1", ["A=1"]),
        ("9P=1\nA-B=2\n=3\nC=4", ["C=4"]),
        ("\u{FEFF}A=1\nB=2", ["B=2"]),
        ("A=\u{1}x\nB=tab\there\nÄ=1", ["B=tab\there"]),
        ("A=1\nA=2", ["A=1", "A=2"]),
        ("A='open\nB=2", ["A=open\nB=2"]),
    ])
    func linesAreReadAsSystemdReadsThem(_ text: String, _ variables: [String]) {
        #expect(self.variables(Array(text.utf8)) == variables)
    }

    @Test(arguments: [Array("A=1\0\n".utf8), [UInt8(ascii: "A"), UInt8(ascii: "="), 0xFF]])
    func whatIsNoTextIsRefused(_ bytes: [UInt8]) {
        #expect(self.variables(bytes) == nil)
    }

    @Test func aFileThatMayBeMissingHasNoVariables() {
        #expect(EnvironmentFile("/nonexistent/file") == nil)
        #expect(EnvironmentFile("-/nonexistent/file")?.variables.isEmpty == true)
    }
}
