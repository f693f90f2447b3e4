import Foundation
import StateMachineCore
import StateMachineDeclaration
import Testing

@Suite struct DeclarationFileTests {
    @Test func aFileInAStickyDirectoryMayBeWrittenByOthers() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "declaration-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "machine.yaml").path
        try "start: a\nstates: {a: {run: /bin/true, to: [a], done: a}}\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
        // What is above it is anybody's, for all that the directory itself is not.
        var status = stat()
        #expect(stat(FileManager.default.temporaryDirectory.path, &status) == 0)
        try #require(status.st_mode & S_IWOTH != 0)
        let read = try DeclarationFile(path: file)
        #expect(read.isWritableByOthers)
        #expect(read.reading.declaration == nil)
    }

    @Test func aFileThatIsNotThereIsToldByItsName() throws {
        let error = #expect(throws: DeclarationFile.Unreadable.self) {
            try DeclarationFile(path: "/nowhere/machine.yaml")
        }
        #expect(error?.sentence == "cannot read /nowhere/machine.yaml: No such file or directory")
    }

    @Test func instancesHaveFilesOfTheirOwn() {
        #expect(
            DeclarationFile.usualPaths(instance: nil) == [
                "/etc/statemachine/machine.yaml", "/usr/lib/statemachine/machine.yaml",
            ]
        )
        #expect(
            DeclarationFile.usualPaths(instance: "left") == [
                "/etc/statemachine/left.machine.yaml", "/usr/lib/statemachine/left.machine.yaml",
            ]
        )
    }
}
