import Foundation
import Subprocess
import TestSupport
import Testing

/// statectl watch and wait with patterns, and across the daemon's end and return.
@Suite(.bounded)
struct StatectlFollowTests {
    @Test
    func aWatchOfAPatternShowsNothingElseFromItsStart() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = ["watch", "authentication", "--json", "--count", "1"]
            let status = try await daemon.withStatectl(arguments) { watch in
                try await daemon.awaitWatches(1)
                try await daemon.change(upTo: 3)
                _ = try await daemon.ask(\.control, "set authentication phase=active")
                let line = try JSONLine(try await watch.next())
                #expect(line.type == "change")
                #expect(line.seq == 4)
            }
            #expect(status == .exited(0))
        }
    }

    @Test
    func aWatchsCommandIsNotRunForAStateThatIsNotMeant() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = [
                "watch", "authentication", "--count", "2", "--exec", "sh", "-c",
                #"echo "$STATEMACHINE_EVENT $STATEMACHINE_STATE $STATEMACHINE_BY_UID $STATEMACHINE_CAUSE""#,
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                try await daemon.awaitWatches(1)
                let set =
                    #"{"op":"set","state":"authentication","data":{"phase":"PHASE"},"cause":"why"}"#
                for phase in ["active", "success"] {
                    let line = set.replacing("PHASE", with: phase)
                    _ = try await daemon.ask(\.control, line)
                    #expect(try await watch.next() == "change authentication \(getuid()) why")
                }
            }
            #expect(status == .exited(0))
        }
    }

    @Test
    func aWatchWaitsForItsDaemonAndSaysThatItHasGoneAndComeBack() async throws {
        try await withTemporaryDirectory { directory in
            let arguments = ["--runtime-directory", "\(directory)/run", "watch"]
            let status = try await StatectlProcess.run(arguments) { watch in
                #expect(try await watch.next().hasSuffix("; waiting for the daemon"))
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let line = try await watch.next()
                    #expect(line.contains("#0      ready(false)"))
                }
                #expect(
                    try await watch.next().hasSuffix("  — gone: the daemon is shutting down")
                )
                try FileManager.default.removeItem(atPath: "\(directory)/notify")
                _ = try await DaemonProcess.run(in: directory) { _ in
                    #expect(try await watch.next().hasSuffix("  — back"))
                    #expect(try await watch.next().contains("— the daemon was restarted"))
                    try watch.send(.terminate)
                }
            }
            #expect(status == .signaled(15))
        }
    }

    @Test(arguments: [([String](), true), (["ready"], false), (["ready", "--gone"], true)])
    func aCommandIsToldThatTheDaemonHasGone(words: [String], isTold: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let arguments =
                ["--runtime-directory", "\(directory)/run", "watch"] + words + [
                    "--exec", "sh", "-c", #"echo "$STATEMACHINE_EVENT:$STATEMACHINE_STATE""#,
                ]
            let status = try await StatectlProcess.run(arguments) { watch in
                // statectl's own lines may come before or after its command's.
                var lines = [try await watch.next()]
                if isTold { lines.append(try await watch.next()) }
                #expect(lines.contains("gone:") == isTold)
                #expect(lines.contains { $0.hasSuffix("; waiting for the daemon") })
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let line = try await watch.next()
                    #expect(line == "state:ready")
                }
                lines = [try await watch.next()]
                if isTold { lines.append(try await watch.next()) }
                #expect(lines.contains("gone:") == isTold)
                #expect(lines.contains { $0.hasSuffix("; reconnecting") })
                try FileManager.default.removeItem(atPath: "\(directory)/notify")
                _ = try await DaemonProcess.run(in: directory) { _ in
                    let back = [try await watch.next(), try await watch.next()]
                    #expect(back.contains("statectl: connected"))
                    #expect(back.contains(isTold ? "back:ready" : "state:ready"))
                    try watch.send(.terminate)
                }
            }
            #expect(status == .signaled(15))
        }
    }

    @Test
    func aWaitWaitsForItsDaemonUnlessItIsNotTo() async throws {
        try await withTemporaryDirectory { directory in
            let common = ["--runtime-directory", "\(directory)/run", "wait", "ready"]
            let hasty = try await BuiltProduct.statectl.run(common + ["--no-wait"])
            #expect(hasty.status == .exited(69))
            let timed = try await BuiltProduct.statectl.run(common + ["--timeout", "0.1"])
            #expect(timed.status == .exited(124))
            let status = try await StatectlProcess.run(common) { wait in
                #expect(try await wait.next().contains("no daemon answers"))
                _ = try await DaemonProcess.run(in: directory) { _ in
                    #expect(try await wait.next() == "statectl: connected")
                    let line = try await wait.next()
                    #expect(line.hasPrefix("ready(false)"))
                }
            }
            #expect(status == .exited(0))
        }
    }

    @Test
    func aWatchWithoutPatienceEndsWhereThereIsNoDaemon() async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await BuiltProduct.statectl.run(
                ["--runtime-directory", "\(directory)/run", "watch", "--no-wait"]
            )
            #expect(ended.status == .exited(69))
        }
    }

    @Test
    func aStateThatLastsIsToldOfOnce() async throws {
        try await DaemonProcess.run { daemon in
            let arguments = [
                "watch", "ready", "--json", "--stuck", "0.01", "--until", "authentication",
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                #expect(try JSONLine(try await watch.next()).type == "state")
                let stuck = try JSONLine(try await watch.next())
                #expect(stuck.type == "stuck")
                #expect(stuck.seq == 0)
                #expect(stuck.string("state") == "ready")
                _ = try await daemon.ask(\.control, "set ready value=true")
                #expect(try JSONLine(try await watch.next()).type == "change")
                #expect(try JSONLine(try await watch.next()).seq == 1)
                _ = try await daemon.ask(\.control, "set authentication phase=active")
            }
            #expect(status == .exited(0))
        }
    }

    @Test
    func aCommandIsRunForTheStateThatLastsAndForNoOther() async throws {
        try await DaemonProcess.run { daemon in
            _ = try await daemon.ask(\.control, "set authentication phase=idle")
            let arguments = [
                "watch", "--stuck", "200ms", "--until", "dataRetrieval", "--",
                "sh", "-c", "echo $STATEMACHINE_EVENT $STATEMACHINE_SEQ",
            ]
            let status = try await daemon.withStatectl(arguments) { watch in
                #expect(try await watch.next() == "stuck 1")
                _ = try await daemon.ask(\.control, "set ready value=true")
                #expect(try await watch.next() == "stuck 2")
                _ = try await daemon.ask(\.control, "set dataRetrieval phase=idle")
            }
            #expect(status == .exited(0))
        }
    }
}

extension DaemonProcess {
    /// Returns when there are `count` watches.
    func awaitWatches(_ count: Int) async throws {
        let client = try self.connect(\.control)
        while true {
            let rows = try await client.ask("stats").items("connections") ?? []
            if rows.reduce(0, { $0 + ($1.int("watches") ?? 0) }) == count { return }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
