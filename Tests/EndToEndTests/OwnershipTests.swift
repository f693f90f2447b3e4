import Foundation
import Subprocess
import TestSupport
import Testing

/// What other users can do to the daemon's directories, before it starts and while it runs.
@Suite(.bounded) struct OwnershipTests {
    @Test func whoLocksTheDirectoryDoesNotKeepItFromStarting() async throws {
        try await withTemporaryDirectory { directory in
            let runtime = "\(directory)/run"
            #expect(mkdir(runtime, 0o755) == 0)
            // As anybody who may enter the directory can.
            let descriptor = Descriptor(open(runtime, O_RDONLY | O_CLOEXEC), name: "lock")
            #expect(flock(descriptor.number, LOCK_EX | LOCK_NB) == 0)
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let lock = try Self.mode("\(runtime)/statemachine.lock")
                #expect(lock == 0o600)
                let answer = try await daemon.ask(\.control, "get")
                #expect(answer.type == "reply")
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test func ofTwoDaemonsOneGetsTheDirectoryAndAStaleLockIsNone() async throws {
        try await withTemporaryDirectory { directory in
            for _ in 1...2 {
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let notify = try NotifySocket(in: directory, name: "second")
                    let second = try ActivatedDaemon(in: directory, notify: notify)
                    let (errors, status) = try await second.ended()
                    #expect(errors.contains("another daemon is running in \(directory)/run"))
                    #expect(status == EX_CONFIG)
                }
            }
        }
    }

    @Test func theDirectoriesThatItIsInAreMade() async throws {
        try await withTemporaryDirectory { directory in
            let notify = try NotifySocket(in: directory)
            let process = try SpawnedProcess(
                [
                    try BuiltProduct.statemachine.path, "--runtime-directory",
                    "\(directory)/of/all/one",
                ],
                notify: notify,
                output: "\(directory)/log"
            )
            try await notify.wait(for: "READY=1")
            #expect(try Self.mode("\(directory)/of/all") == 0o755)
            #expect(try await process.end() == 0)
        }
    }

    /// Many systems give each user a group, and a umask of 002.
    @Test(.enabled(if: geteuid() == 0, "needs other groups"))
    func theOwnersOwnGroupIsNobodyElse() async throws {
        try await withTemporaryDirectory { directory in
            let runtime = "\(directory)/run"
            #expect(mkdir(runtime, 0o755) == 0)
            #expect(chown(runtime, 0, 0) == 0 && chmod(runtime, 0o775) == 0)
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let pong = try await daemon.ask(\.control, "ping")
                #expect(pong.ok == true)
            }
            #expect(ended.status == .exited(0))
            #expect(chown(runtime, 0, 65_534) == 0)
            let notify = try NotifySocket(in: directory)
            let (errors, status) = try await ActivatedDaemon(in: directory, notify: notify).ended()
            #expect(
                errors.contains(
                    "other users may write to the runtime directory \(runtime); run chmod g-w \(runtime)"
                )
            )
            #expect(status == EX_CONFIG)
        }
    }

    @Test func aLockThatLeadsElsewhereIsRefused() async throws {
        try await withIdleService { service in
            let (run, elsewhere) = ("\(service.directory)/run", "\(service.directory)/elsewhere")
            #expect(mkdir(run, 0o755) == 0 && symlink(elsewhere, "\(run)/statemachine.lock") == 0)
            let (_, errors, status) = try await service.refusal()
            #expect(
                errors.contains("\(run)/statemachine.lock is in the way: it is not a lock file")
            )
            #expect(status == EX_CONFIG && access(elsewhere, F_OK) != 0)
        }
    }

    @Test(arguments: [false, true]) func nobodyElseCanOpenTheHistory(_ wasOpen: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let state = "\(directory)/state"
            let files = ["", "-wal", "-shm"].map { "\(state)/statemachine.sqlite\($0)" }
            if wasOpen {
                // Left as another version has left them.
                _ = try await DaemonProcess.run(in: directory, isDurable: true) {
                    let reply = try await $0.ask(\.control, "set ready value=true")
                    #expect(reply.seq == 1)
                    try $0.send(.kill)
                }
                #expect(chmod(state, 0o755) == 0)
                for file in files { #expect(chmod(file, 0o644) == 0) }
            }
            _ = try await DaemonProcess.run(in: directory, isDurable: true) {
                let reply = try await $0.ask(\.control, "set authentication phase=active")
                #expect(reply.seq == (wasOpen ? 2 : 1))
                for file in files {
                    let mode = try Self.mode(file)
                    #expect(mode == 0o600, "\(file)")
                }
                let mode = try Self.mode(state)
                #expect(mode == 0o700)
            }
        }
    }

    private static func mode(_ path: String) throws -> mode_t {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw TestFailure("there is no \(path)") }
        return status.st_mode & 0o777
    }
}
