import Foundation
import Glibc
import Subprocess
import TestSupport
import Testing

/// Where the daemon's files are, how long their paths may be, and what is removed at the end.
@Suite(.bounded) struct PlaceTests {
    /// The kernel's limit is everybody's: 107 bytes for the path of a socket.
    @Test(arguments: [103, 104, 107])
    func aSocketWhosePathTheKernelTakesIsReached(bytes: Int) async throws {
        try await withTemporaryDirectory { directory in
            // With "/run/control.sock", which is the longer of the two.
            let name = String(repeating: "d", count: bytes - directory.utf8.count - 18)
            let deep = "\(directory)/\(name)"
            try FileManager.default.createDirectory(
                atPath: deep,
                withIntermediateDirectories: false
            )
            let ended = try await DaemonProcess.run(in: deep) { daemon in
                #expect(daemon.control.utf8.count == bytes)
                let result = try await daemon.statectl("get")
                #expect(result.errors == "")
                #expect(result.output.hasPrefix("ready(false)"))
            }
            #expect(ended.status == .exited(0))
        }
    }

    /// The directory may have been made anew, and be another daemon's.
    @Test func theLockOfASuccessorStays() async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory, name: "next")
            let successor = Recorder<ActivatedDaemon>()
            _ = try await DaemonProcess.run(in: directory) { daemon in
                try FileManager.default.removeItem(atPath: daemon.directory)
                successor.record(try ActivatedDaemon(in: directory, notify: notify))
                try await notify.wait(for: "READY=1")
            }
            let next = try #require(successor.heard.first)
            let files = try FileManager.default.contentsOfDirectory(atPath: next.directory)
            #expect(Set(files) == ["control.sock", "events.sock", "statemachine.lock"])
            #expect(try await next.end() == 0)
        }
    }

    @Test func fewDescriptorsAreFewConnectionsAndSaidSo() async throws {
        try await withIdleService { service in
            let daemon = try await service.start(command: ["prlimit", "--nofile=100:100"])
            try await daemon.wait(forErrors: "too few file descriptors for max-connections")
            let client = try daemon.connect(\.control)
            let limits = try await client.ask("describe").item("limits")
            let places = try #require(limits?.int("connections"))
            #expect((20..<84).contains(places))
            #expect(limits?.int("serverLineBytes") == 16 << 20)
            // A reload does not forget it.
            try await service.reload(daemon)
            #expect(try await client.ask("describe").item("limits")?.int("connections") == places)
            #expect(try await daemon.end() == 0)
        }
    }

    /// Whoever looks at the daemon reads; nobody changes anything.
    ///
    /// The directory may be a link, and the lock in it may be missing.
    @Test(
        .enabled("needs to mount a file system") { try await SmallDisk.isAllowed() },
        arguments: [true, false]
    )
    func aReadOnlyStateDirectoryIsRead(hasLog: Bool) async throws {
        try await SmallDisk.with { disk in
            let arguments = ["--log-level", "error", "--state-directory", "\(disk.path)/state"]
            try await withTemporaryDirectory { directory in
                _ = try await DaemonProcess.run(in: directory, arguments: arguments) { daemon in
                    try await daemon.change(upTo: 3)
                    if hasLog { try daemon.send(.kill) }
                }
                if !hasLog { #expect(unlink("\(disk.path)/state/statemachine.lock") == 0) }
                #expect(symlink("\(disk.path)/state", "\(directory)/link") == 0)
                try await disk.remount("ro")
                let linked = Array(arguments.dropLast()) + ["\(directory)/link"]
                _ = try await DaemonProcess.run(in: directory, arguments: linked) { daemon in
                    // A line of before READY=1 has been read by whoever waited for that.
                    let watcher = try daemon.connect(\.events)
                    #expect(try await watcher.next().seq == 3)
                    try await daemon.notify.wait(containing: "seq 3, 1 watch; changes are refused")
                    let client = try daemon.connect(\.control)
                    #expect(try await client.ask("get").seq == 3)
                    let refusal = try await client.ask("set ready value=false")
                    #expect(refusal.error == "internal")
                    #expect(refusal.description.contains("its file system is read-only; mount it"))
                    try client.send("history")
                    for seq in 1...3 { #expect(try await client.next().seq == seq) }
                    #expect(try await client.next().type == "reply")
                    try await disk.remount("rw")
                    #expect(try await client.ask("set ready value=false").seq == 4)
                    #expect(try await watcher.next().seq == 4)
                }
            }
        }
    }
}
