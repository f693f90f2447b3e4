import Foundation
import Glibc
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Whoever reads a wrong file says the same of it.
@Suite(.bounded) struct WrongFilesTests {
    private static let directory = URL(filePath: #filePath)
        .appending(path: "../../StateMachineDeclarationTests/Fixtures/wrong").standardized

    private static let good = "start: a\nstates: {a: {final: true}}\n"

    @Test func checkStartAndReloadSayTheSame() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
        #expect(names.count > 140)
        try await withService(machine: Self.good) { service, daemon in
            let client = try daemon.connect(\.control)
            for name in names.sorted() {
                let text = try Data(contentsOf: Self.directory.appending(path: name))
                try text.write(to: URL(filePath: service.file), options: .atomic)
                let checked = try await runTool(
                    .path(.init(try BuiltProduct.statectl.path)),
                    ["check", service.file]
                )
                #expect(checked.status == .exited(EX_CONFIG), "\(name)")
                // Warnings are logged of files that are taken.
                let errors = checked.errors.split(separator: "\n").map(String.init)
                    .filter { !$0.contains(": warning: ") }
                let reply = try await client.ask("reload")
                #expect(reply.strings("problems") == errors, "\(name)")
                try await service.reloaded()
                let started = try await runTool(
                    .path(.init(try BuiltProduct.statemachine.path)),
                    [
                        "--machine", service.file, "--runtime-directory",
                        "\(service.directory)/other",
                    ]
                )
                #expect(started.status == .exited(EX_CONFIG), "\(name)")
                #expect(errors.allSatisfy { started.errors.contains($0) }, "\(started.errors)")
                let said = started.errors.split(separator: "\(service.file):").count - 1
                #expect(said == errors.count, "\(name): \(started.errors)")
            }
            // The old file has been in force all the time.
            #expect(try await client.ask("get").state == "a")
            #expect(try await daemon.end() == 0)
        }
    }
}
