import Foundation
import Glibc
import TestSupport
import Testing

/// Starts with a history whose states another file declared.
@Suite(.bounded) struct DeclaredRestartTests {
    private static let old = """
        machine: coffee
        start: idle
        states:
          idle: {}
          brewing: {fields: {cups: integer}}
        """

    private func withHistory(
        of file: String = Self.old,
        _ body: @escaping @Sendable (ReloadedMachine) async throws -> Void
    ) async throws {
        try await withReloadedMachine(file, isDurable: true) { machine, daemon in
            _ = try await daemon.connect(\.control).ask("set brewing cups=2")
            #expect(try await machine.end(daemon) == 0)
            try await body(machine)
        }
    }

    @Test func aKillAfterAReloadLosesNothing() async throws {
        try await withReloadedMachine(Self.old, isDurable: true) { machine, daemon in
            let client = try daemon.connect(\.control)
            let cursor = try #require(try await client.ask("get").string("cursor"))
            _ = try await client.ask("set brewing cups=2")
            let newer = Self.old.replacing("brewing: {", with: "making: {was: brewing, ")
            try await machine.reload(daemon, newer)
            daemon.send(SIGKILL)
            #expect(try await daemon.ended().status == -SIGKILL)
            let again = try await machine.start()
            let watch = try again.connect(\.control)
            try watch.send(#"{"op":"watch","since":"\#(cursor)"}"#)
            let (set, carried) = (try await watch.next(), try await watch.next())
            #expect(set.seq == 1 && set.state == "brewing")
            #expect(carried.seq == 2 && carried.state == "making")
            #expect(try await watch.next().type == "live")
            #expect(try await machine.end(again) == 0)
            #expect(
                try machine.column("SELECT state FROM change ORDER BY seq") == [
                    "idle", "brewing", "making",
                ]
            )
            #expect(try machine.column("SELECT seq FROM declaration ORDER BY id") == ["0", "2"])
            #expect(
                try machine.column("SELECT text FROM declaration ORDER BY id DESC LIMIT 1") == [
                    newer
                ]
            )
        }
    }

    @Test func aRenamedStateIsCarriedOverByAChange() async throws {
        try await self.withHistory { machine in
            try machine.write(Self.old.replacing("brewing: {", with: "making: {was: brewing, "))
            let daemon = try await machine.start()
            let got = try await daemon.connect(\.control).ask("get")
            #expect(got.state == "making" && got.seq == 2)
            #expect(got.item("data")?.int("cups") == 2)
            #expect(try await machine.end(daemon) == 0)
            #expect(try machine.column("SELECT fromState FROM change WHERE seq = 2") == ["brewing"])
            let cause = try machine.column("SELECT cause FROM change WHERE seq = 2")
            #expect(cause.first?.hasPrefix("declaration ") == true)
            // And only once.
            let again = try await machine.start()
            #expect(try await again.connect(\.control).ask("get").seq == 2)
            #expect(try await machine.end(again) == 0)
        }
    }

    @Test func aDroppedStateLeadsToWhereTheFileSays() async throws {
        let newer = "machine: coffee\nversion: 7\nstart: idle\nlost: broken why=lost\nstates:\n"
        try await self.withHistory { machine in
            try machine.write(newer + "  idle: {}\n  broken: {fields: {why: string}}\n")
            let daemon = try await machine.start()
            let got = try await daemon.connect(\.control).ask("get")
            #expect(got.state == "broken" && got.seq == 2 && got.int("stay") == 2)
            #expect(try await machine.end(daemon) == 0)
            #expect(
                try machine.column("SELECT cause FROM change WHERE seq = 2") == ["declaration 7"]
            )
        }
    }

    @Test func withoutThatTheStartIsRefusedAndNothingIsLost() async throws {
        try await self.withHistory { machine in
            try machine.write("machine: coffee\nstart: idle\nstates: {idle: {}}\n")
            let (errors, status) = try await machine.refusal()
            #expect(status == 78)
            #expect(errors.contains(#"the state "brewing" no longer exists"#), "\(errors)")
            #expect(errors.contains(#"write "lost: STATE""#), "\(errors)")
            try machine.write(Self.old)
            let daemon = try await machine.start()
            #expect(try await daemon.connect(\.control).ask("get").seq == 1)
            #expect(try await machine.end(daemon) == 0)
        }
    }

    @Test func theHistoryOfAnotherMachineIsRefused() async throws {
        try await self.withHistory { machine in
            try machine.write(Self.old.replacing("machine: coffee", with: "machine: tea"))
            let other = try await machine.refusal()
            #expect(other.status == 78)
            #expect(other.errors.contains(#"the history of the machine "coffee""#), "\(other)")
            let stock = try await ActivatedDaemon(
                in: machine.directory,
                notify: machine.notify,
                arguments: ["--state-directory", machine.state]
            ).ended()
            #expect(stock.status == 78)
            #expect(stock.errors.contains(#"declared in a file ("coffee")"#), "\(stock)")
            #expect(
                try machine.column("SELECT state FROM change ORDER BY seq") == ["idle", "brewing"]
            )
        }
    }

    @Test(arguments: [false, true])
    func theHistoryOfTheStockStatesIsRefusedUnlessNothingHasHappened(
        hasChanged: Bool
    ) async throws {
        try await withTemporaryDirectory { directory in
            let machine = try ReloadedMachine(in: directory, isDurable: true)
            let stock = try ActivatedDaemon(
                in: directory,
                notify: machine.notify,
                arguments: ["--state-directory", machine.state]
            )
            try await machine.notify.wait(for: "READY=1")
            if hasChanged {
                _ = try await stock.connect(\.control).ask("set ready value=true")
            }
            #expect(try await machine.end(stock) == 0)
            try machine.write(Self.old)
            if hasChanged {
                let (errors, status) = try await machine.refusal()
                #expect(status == 78)
                #expect(errors.contains("was written for a machine without this file"), "\(errors)")
                #expect(
                    try machine.column("SELECT state FROM change ORDER BY seq") == [
                        "ready", "ready",
                    ]
                )
            } else {
                let daemon = try await machine.start()
                #expect(try await daemon.connect(\.control).ask("get").state == "idle")
                #expect(try await machine.end(daemon) == 0)
            }
        }
    }
}
