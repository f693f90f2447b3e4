import Foundation
import StateMachineCore
import StateMachineDeclaration
import TestSupport
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
        // Anybody may write to its parent, but not to the directory itself.
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

    @Test(.bounded)
    func whatIsNoFileIsToldAsWhatItIs() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "declaration-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // Nobody writes into it: simply opening it would block for ever.
        let fifo = "\(directory)/fifo"
        try #require(mkfifo(fifo, 0o600) == 0)
        for (path, kind) in [
            (directory, "a directory"), (fifo, "a FIFO"), ("/dev/zero", "a device"),
        ] {
            let error = #expect(throws: DeclarationFile.Unreadable.self) {
                try DeclarationFile(path: path)
            }
            #expect(error?.sentence == "\(path) is \(kind), not a file that declares a machine")
        }
    }

    @Test(arguments: [
        ("\u{FEFF}start: a\nstates: {a: {}}\n", []),
        ("\u{FEFF}start: b\nstates: {a: {}}\n", ["f:1:8: there is no state \"b\"; known: a"]),
        ("", ["f:1:1: the file is empty"]),
        ("\u{FEFF}", ["f:1:1: the file is empty"]),
    ])
    func aByteOrderMarkSaysNothing(text: String, errors: [String]) {
        let reading = DeclarationReading(Array(text.utf8))
        #expect(
            reading.problems.filter { $0.severity == .error }.map { $0.line(in: "f") } == errors
        )
        #expect((reading.declaration != nil) == errors.isEmpty)
    }

    @Test func utf16IsToldByItsName() {
        let text: [UInt8] = "start: a".utf8.flatMap { [$0, 0] as [UInt8] }
        let bytes: [UInt8] = [0xFF, 0xFE] + text
        #expect(
            DeclarationReading(bytes).problems.map(\.sentence)
                == ["the file is UTF-16; save it as UTF-8"]
        )
    }

    @Test func aNameThatIsThereTwiceIsKnownOnce() {
        let text = """
            start: a
            always: [zzz]
            groups: {a: {states: [a]}}
            states: {a: {}}
            """
        let errors = DeclarationReading(Array(text.utf8)).problems.map { $0.line(in: "f") }
        #expect(errors.contains("f:2:10: there is no state or group \"zzz\"; known: a"))
    }

    @Test func instancesHaveFilesOfTheirOwn() {
        #expect(
            DeclarationFile.defaultPaths(instance: nil) == [
                "/etc/statemachine/machine.yaml", "/usr/lib/statemachine/machine.yaml",
            ]
        )
        #expect(
            DeclarationFile.defaultPaths(instance: "left") == [
                "/etc/statemachine/left.machine.yaml", "/usr/lib/statemachine/left.machine.yaml",
            ]
        )
    }
}
