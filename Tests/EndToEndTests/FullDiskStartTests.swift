import StateMachineSQLite
import Subprocess
import TestSupport
import Testing

/// A daemon whose disk is full before it starts: it serves what there was, and refuses sets until
/// there is room.
@Suite(.bounded, .enabled("needs to mount a file system") { try await SmallDisk.isAllowed() })
struct FullDiskStartTests {
    /// With the log that the last daemon left, or without one, when there is no room to create it.
    @Test(arguments: [true, false]) func whatWasIsServed(_ hasLog: Bool) async throws {
        try await SmallDisk.with { disk in
            let epochs = Recorder<String>()
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                try await daemon.change(upTo: 3)
                epochs.record(try await daemon.epoch())
                try daemon.send(.kill)
            }
            if !hasLog {
                // SQLite's last connection removes the log when it closes.
                _ = try Database("\(disk.path)/state/statemachine.sqlite").hasTable("change")
            }
            try await disk.fill()
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                try await daemon.notify.waitUnlessSeen("seq 3, 0 watches; changes are refused: ")
                #expect(try await daemon.epoch() == epochs.heard[0])
                let client = try daemon.connect(\.control)
                let refusal = try await client.ask("set ready value=false")
                #expect(refusal.error == "internal")
                let message = try #require(refusal.string("message"))
                #expect(message.contains("statemachine.sqlite: the disk is full"))
                #expect(refusal.seq == 3)
                #expect(try await client.ask("get").seq == 3)
                if hasLog {
                    // The past can be read too.
                    try client.send("history")
                    for seq in 1...3 { #expect(try await client.next().seq == seq) }
                    #expect(try await client.next().type == "reply")
                }
                try await disk.empty()
                #expect(try await client.ask("set ready value=false").seq == 4)
                try await daemon.notify.wait(for: "STATUS=ready(false), seq 4, 0 watches")
                try client.send("history")
                for seq in 1...4 { #expect(try await client.next().seq == seq) }
            }
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                let (seq, epoch) = (try await daemon.seq(), try await daemon.epoch())
                #expect(seq == 4)
                #expect(epoch == epochs.heard[0])
            }
        }
    }

    @Test func aFirstStartIsOneToo() async throws {
        try await SmallDisk.with { disk in
            try await disk.fill()
            for isLast in [false, true] {
                try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                    try await daemon.notify.waitUnlessSeen("; changes are refused: ")
                    let client = try daemon.connect(\.control)
                    let epoch = try await daemon.epoch()
                    #expect(try await client.ask("set ready value=true").error == "internal")
                    #expect(try await client.ask("get").seq == 0)
                    guard isLast else { return }
                    try await disk.empty()
                    #expect(try await client.ask("set ready value=true").seq == 1)
                    #expect(try await daemon.epoch() == epoch)
                }
            }
            try await DaemonProcess.run("--state-directory", disk.state) { daemon in
                let seq = try await daemon.seq()
                #expect(seq == 1)
            }
        }
    }
}

extension DaemonProcess {
    fileprivate func seq() async throws -> Int? { try await self.ask(\.control, "get").seq }
}
