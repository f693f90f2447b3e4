import Glibc
import Subprocess
import TestSupport
import Testing

/// The recipe for several services at one gate: who is busy holds the deploy, and who deploys holds the end of it.
@Suite(.bounded) struct DeployGateTests {
    private static let machine = """
        machine: gate
        start: open
        events: {deploy: {}}
        states:
          open: {when: {deploy: closing}}
          closing: {after: {100ms: deploying}}
          deploying: {after: {1s: open}}
        """

    /// Who holds while a command runs, which ends when its FIFO is opened.
    private struct Member {
        let process: SpawnedProcess
        private let fifo: FIFO
        private let output: String

        private init(_ name: String, _ directory: String, _ hold: [String], _ script: String) throws
        {
            self.output = "\(directory)/\(name).out"
            self.fifo = try FIFO(beside: "\(directory)/\(name)")
            let statectl = [
                try BuiltProduct.statectl.path, "--runtime-directory", "\(directory)/run",
            ]
            self.process = try SpawnedProcess(
                statectl + ["hold", "--verbose", "--why", name] + hold
                    + ["--", "sh", "-c", script, self.fifo.path] + statectl,
                output: self.output
            )
        }

        static func service(_ name: String, _ directory: String) throws -> Member {
            try Member(
                name,
                directory,
                ["--before", "deploying", "--when-not", "deploying"],
                #"echo begun; read go <"$0""#
            )
        }

        static func deploy(_ directory: String) throws -> Member {
            try Member(
                "deploy",
                directory,
                ["--before", "open"],
                #""$@" send --must deploy && "$@" wait deploying && echo begun && read go <"$0""#
            )
        }

        func has(_ text: String) -> Bool { self.process.said.contains(text) }

        func wait(for text: String) async throws {
            _ = try await TestSupport.wait(for: [text], in: self.output)
        }

        /// Lets its command end; returns its exit status.
        func finish() async throws -> CInt {
            try self.fifo.open()
            return try await self.process.ended()
        }
    }

    private func state(_ daemon: DaemonProcess) async throws -> String? {
        try await daemon.ask(\.control, "get").state
    }

    private func wait(_ daemon: DaemonProcess, for state: String) async throws {
        let ended = try await daemon.statectl("wait", state, "--timeout", "60s")
        #expect(ended.status == .exited(0), "\(ended.errors)")
    }

    /// One of three services is killed, then the daemon, and the deploy in the middle of it.
    @Test func aDeployBeginsWhenTheLastServiceIsDoneWhateverIsKilled() async throws {
        try await withTemporaryDirectory { directory in
            let members = Recorder<Member>()
            _ = try await DaemonProcess.run(
                in: directory,
                machine: Self.machine,
                isDurable: true
            ) { daemon in
                for name in ["a", "b", "c"] {
                    members.record(try Member.service(name, directory))
                }
                for member in members.heard { try await member.wait(for: "begun") }
                members.record(try Member.deploy(directory))
                try await self.wait(daemon, for: "closing")
                try await members.heard[0].process.end(by: SIGKILL)
                #expect(try await self.state(daemon) == "closing")
                try daemon.send(.kill)
            }
            let (b, c, deploy) = (members.heard[1], members.heard[2], members.heard[3])
            _ = try await DaemonProcess.run(
                in: directory,
                machine: Self.machine,
                isDurable: true
            ) { daemon in
                for member in [b, c, deploy] { try await member.wait(for: "is taken again") }
                #expect(try await b.finish() == 0)
                #expect(try await self.state(daemon) == "closing")
                #expect(!deploy.has("begun"))
                #expect(try await c.finish() == 0)
                try await deploy.wait(for: "begun")
                let late = try Member.service("late", directory)
                try await late.wait(for: "waiting until the state is not deploying")
                #expect(try await self.state(daemon) == "deploying")
                #expect(!late.has("begun"))
                try await deploy.process.end(by: SIGKILL)
                try await late.wait(for: "begun")
                #expect(try await self.state(daemon) == "open")
                #expect(try await late.finish() == 0)
            }
        }
    }
}
