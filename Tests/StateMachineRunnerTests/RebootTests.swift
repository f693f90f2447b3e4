import Glibc
import TestSupport
import Testing

/// Daemon and runner are killed together and started in another boot of the machine, as after a loss of power.
@Suite(.bounded) struct RebootTests {
    private static let text = """
        machine: ota
        start: idle
        events: {go: {}}
        states:
          idle: {when: {go: installing}}
          installing:
            fields: {percent: {type: integer, default: 0}}
            enter: {command: [/bin/sh, -c, 'echo enter >WITNESS']}
            leave: {command: [/bin/sh, -c, 'echo leave >WITNESS']}
            run:
              command: [/bin/sh, -c, 'echo run $STATEMACHINE_ATTEMPT >WITNESS; exec sleep 1000']
              INTERRUPTED
            failed: rolled-back
          rolled-back: {final: true}
        """

    /// What the disk keeps of the updates that a run makes.
    enum Updates: CaseIterable {
        case none
        case kept
        case lost
    }

    private func reboots(
        _ interrupted: String,
        _ durability: String,
        _ updates: Updates,
        _ body: (RunningMachine, _ reboot: () async throws -> Void) async throws -> Void
    ) async throws {
        let text = Self.text.replacing("INTERRUPTED", with: "interrupted: \(interrupted)")
        try await withRunningMachine(text) { machine in
            let options = ["--durability", durability]
            var boot = 1
            try await machine.startDaemon(boot: "\(boot)", options: options)
            try await machine.startRunner(boot: "\(boot)")
            _ = try await machine.ask("send go")
            #expect(try await machine.witness.next() == "enter")
            #expect(try await machine.witness.next() == "run 1")
            try await body(machine) {
                if updates == .lost {
                    // The first change of a run of the daemon is on the disk in any case.
                    #expect(try await machine.ask("update percent=\(boot + 100)").ok == true)
                    try machine.keepHistory()
                }
                if updates != .none {
                    #expect(try await machine.ask("update percent=\(boot)").ok == true)
                    // The runner knows of it before it is killed.
                    try await machine.remembered("\"percent\":\(boot)")
                }
                try machine.runner.send(SIGKILL)
                try machine.daemon.send(SIGKILL)
                _ = (try await machine.runner.ended(), try await machine.daemon.ended())
                if updates == .lost { try machine.putHistoryBack() }
                boot += 1
                try await machine.startDaemon(boot: "\(boot)", options: options)
                try await machine.startRunner(boot: "\(boot)")
            }
        }
    }

    @Test(arguments: ["commit", "disk"], Updates.allCases)
    func whatRanWasInterruptedAndItsHooksAreNotRunAgain(
        _ durability: String,
        _ updates: Updates
    ) async throws {
        // With "disk" nothing is lost.
        if durability == "disk", updates == .lost { return }
        try await self.reboots("rolled-back", durability, updates) { machine, reboot in
            try await reboot()
            let moved = try await machine.ask(#"{"op":"wait","until":["rolled-back"]}"#)
            #expect(moved.string("cause") == "interrupted", "\(machine.said)")
            #expect(try await machine.witness.next() == "leave")
            #expect(machine.witness.rest() == [], "\(machine.said)")
        }
    }

    @Test(arguments: Updates.allCases)
    func aRunThatIsInterruptedAgainAndAgainFails(_ updates: Updates) async throws {
        try await self.reboots("again", "commit", updates) { machine, reboot in
            for _ in 1...3 {
                try await reboot()
                #expect(try await machine.witness.next() == "run 1", "\(machine.said)")
            }
            try await reboot()
            let moved = try await machine.ask(#"{"op":"wait","until":["rolled-back"]}"#)
            #expect(moved.string("cause") == "interrupted" || moved.string("cause") == "failed")
            #expect(try await machine.witness.next() == "leave")
            #expect(machine.witness.rest() == [], "\(machine.said)")
        }
    }
}
