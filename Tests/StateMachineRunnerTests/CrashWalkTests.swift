import Glibc
import TestSupport
import Testing

/// The daemon, or with it the runner, is killed at random moments while a state is held, a deadline
/// is due and a command runs.
@Suite(.timeLimit(.minutes(60))) struct CrashWalkTests {
    private static let text = """
        machine: crashes
        start: resting
        moves: {most: 10000, in: 1h}
        states:
          resting: {after: {40ms: working}}
          working:
            run:
              command: [/bin/sh, -c, 'echo begin $STATEMACHINE_STAY >WITNESS; sleep 0.03; echo end $STATEMACHINE_STAY >WITNESS']
              interrupted: again
            done: resting
        """

    private static let hold = #"{"op":"hold","before":["working"]}"#

    /// From the seq at which a hold was there to that at which it was given back.
    private struct Held {
        let after: Int
        let upTo: Int
    }

    @Test func nothingSlipsAndNothingHappensTwice() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        func pause(upTo milliseconds: UInt32) {
            usleep(UInt32.random(in: 0...milliseconds * 1000, using: &random))
        }
        try await withRunningMachine(Self.text) { machine in
            try await machine.start()
            var held: [Held] = []
            var said: [String] = []
            /// The stays whose command was killed with the runner, or whose end it could not note.
            var cut: Set<Int> = []
            func noteCut() {
                said += machine.witness.rest()
                let stay = said.last?.split(separator: " ").last.flatMap { Int($0) }
                if let stay { cut.insert(stay) }
            }
            for _ in 0..<Chance.crashes {
                var holder = try machine.connect()
                #expect(try await holder.ask(Self.hold).ok == true)
                let after = try #require(try await holder.ask("ping").seq)
                for _ in 0...Int.random(in: 0...2, using: &random) {
                    pause(upTo: 80)
                    try await machine.daemon.end(by: SIGKILL)
                    let isPowerCut = Int.random(in: 0..<3, using: &random) == 0
                    if isPowerCut {
                        try await machine.runner.end(by: SIGKILL)
                        noteCut()
                    }
                    try await machine.startDaemon()
                    if isPowerCut {
                        try await machine.startRunner()
                        // What the killed one had begun went on until this one ended it.
                        noteCut()
                    }
                    pause(upTo: 120)
                    holder = try machine.connect()
                    #expect(try await holder.ask(Self.hold).ok == true)
                }
                pause(upTo: 80)
                let upTo = try #require(try await holder.ask("ping").seq)
                held.append(Held(after: after, upTo: upTo))
                holder.vanish()
                // The deadline that was held comes now.
                let entered = try await machine.ask(#"{"op":"wait","until":["working"]}"#)
                #expect(entered.ok == true, "seed \(seed)")
            }
            let history = try machine.connect()
            try history.send(#"{"op":"history","limit":10000}"#)
            let changes = try await history.changes().changes
            said += machine.witness.rest()
            let entries = changes.filter { $0.state == "working" }.compactMap(\.seq)
            for (number, held) in held.enumerated() {
                let slipped = entries.filter { $0 > held.after && $0 <= held.upTo }
                #expect(slipped == [], "round \(number), seed \(seed)")
            }
            // Each deadline, and each end of a command, has led to one change.
            let states = changes.map(\.state)
            #expect(states == states.indices.map { $0.isMultiple(of: 2) ? "working" : "resting" })
            let begun = said.filter { $0.hasPrefix("begin ") }
                .compactMap { Int($0.dropFirst(6)) }
            let twice = Set(begun).filter { stay in
                !cut.contains(stay) && begun.count { $0 == stay } > 1
            }
            #expect(twice == [], "seed \(seed): \(said)\n\(machine.said)")
        }
    }
}
