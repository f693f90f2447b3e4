import Glibc
import StateMachineDeclaration
import TestSupport
import Testing

/// Runners and daemons are killed at random moments; the commands themselves are the witnesses.
@Suite(.bounded) struct KilledRunnerTests {
    /// Each command says that it begins and, unless it is told to end first, that it has ended.
    private static let text = """
        machine: killed
        start: one
        events: {go: {}}
        states:
          one: {HOOKS, RUN, when: {go: two}}
          two: {HOOKS, when: {go: three}}
          three: {HOOKS, RUN, when: {go: one}}
        """
        .replacing(
            "HOOKS",
            with: "enter: [COMMAND, COMMAND], leave: COMMAND"
                .replacing(
                    "COMMAND",
                    with: "{command: [/bin/sh, -c, 'W=$STATEMACHINE_SEQ.$STATEMACHINE_KEY; "
                        + "echo begin $W >WITNESS; sleep 0.01; echo end $W >WITNESS']}"
                )
        )
        .replacing(
            "RUN",
            with: "run: {command: [/bin/sh, -c, 'W=$STATEMACHINE_STAY.run; "
                + "trap \"echo end $W >WITNESS; exit 1\" TERM; echo begin $W >WITNESS; "
                + "while true; do sleep 0.01; done'], stop: 10s}"
        )

    /// Checks what was said: one command at a time, hooks in order and none missing.
    private struct Reader {
        private var present: String?
        private(set) var ended: [String] = []
        private(set) var complaints: [String] = []

        mutating func take(_ line: String, afterKill: Bool) {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2 else {
                self.complaints.append("odd: \(line)")
                return
            }
            if words[0] == "begin" {
                // A command killed with its runner says nothing more.
                if let present, !afterKill {
                    self.complaints.append("\(words[1]) while \(present)")
                }
                self.present = words[1]
            } else {
                if self.present != words[1] {
                    self.complaints.append("end of \(words[1]) while \(self.present ?? "nothing")")
                }
                self.present = nil
                self.ended.append(words[1])
            }
        }
    }

    @Test func hooksAreInOrderAndNoneIsMissing() async throws {
        var random = SeededGenerator(seed: 20_261_122)
        try await withRunningMachine(Self.text) { machine in
            try await machine.start()
            let changes = 40
            var said: [String] = []
            // A runner without a record begins with the present state.
            while said.last != "end 0.enter-2" { said.append(try await machine.witness.next()) }
            for _ in 0..<changes {
                #expect(try await machine.ask("send go").bool("changed") == true)
                usleep(UInt32.random(in: 0...60_000, using: &random))
                let dice = Int.random(in: 0..<4, using: &random)
                said += machine.witness.rest()
                if dice == 0 {
                    try await machine.runner.end(by: SIGKILL)
                    // What was said before that is not of the next runner's commands.
                    said += machine.witness.rest()
                    said.append("killed")
                    try await machine.startRunner()
                } else if dice == 1 {
                    try await machine.daemon.end(by: SIGKILL)
                    try await machine.startDaemon()
                }
            }
            // The last enter hook of the last change: 40 changes from `one` lead to `two`.
            while !said.contains("end \(changes).enter-2") {
                said.append(try await machine.witness.next())
            }
            Self.check(said, changes, machine)
        }
    }

    private static func check(_ said: [String], _ changes: Int, _ machine: RunningMachine) {
        var reader = Reader()
        var wasKilled = false
        for line in said {
            if line == "killed" {
                wasKilled = true
                continue
            }
            reader.take(line, afterKill: wasKilled)
            if line.hasPrefix("begin") { wasKilled = false }
        }
        #expect(reader.complaints == [], "\(said)\n\(machine.said)")
        // A hook that was killed, or whose end was not recorded, runs again: only its first run
        // counts.
        var hooks: [String] = []
        for name in reader.ended where !name.hasSuffix(".run") && !hooks.contains(name) {
            hooks.append(name)
        }
        let expected =
            ["0.enter-1", "0.enter-2"]
            + (1...changes).flatMap { ["\($0).leave-1", "\($0).enter-1", "\($0).enter-2"] }
        #expect(hooks == expected, "\(said)\n\(machine.said)")
    }
}
