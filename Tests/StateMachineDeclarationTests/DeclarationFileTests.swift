import Foundation
import StateMachineCore
import StateMachineDeclaration
import TestSupport
import Testing

@Suite struct DeclarationFileTests {
    private static let text = "start: a\nstates: {a: {run: /bin/true, to: [a], done: a}}\n"

    /// A directory that only this user may write, in one where everybody may: whatever is in the first
    /// is nobody else's.
    private func withDirectory(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "declaration-\(UUID().uuidString)").path
        try #require(mkdir(path, 0o700) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Self.text.write(toFile: "\(path)/m.yaml", atomically: true, encoding: .utf8)
        chmod("\(path)/m.yaml", 0o600)
        try body(path)
    }

    /// Expects that to be wrong with whose the file is; nil: nothing.
    private func expect(
        _ complaint: String?,
        of path: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let reading = try DeclarationFile(path: path).reading
        let errors = reading.problems.filter { $0.severity == .error }.map(\.sentence)
        #expect(errors == (complaint.map { [$0] } ?? []), sourceLocation: sourceLocation)
        #expect((reading.declaration == nil) == (complaint != nil), sourceLocation: sourceLocation)
    }

    @Test func aFileInAStickyDirectoryIsItsOwners() throws {
        try self.withDirectory { directory in
            try self.expect(nil, of: "\(directory)/m.yaml")
            chmod(directory, 0o1777)
            try self.expect(nil, of: "\(directory)/m.yaml")
        }
    }

    @Test func whatOthersMayWriteIsToldWithTheRemedy() throws {
        try self.withDirectory { directory in
            let file = "\(directory)/m.yaml"
            for (path, mode, who) in [
                (file, 0o666, "o"), (directory, 0o702, "o"), (directory, 0o757, "o"),
            ] as [(String, mode_t, String)] {
                chmod(path, mode)
                try self.expect(
                    "other users may write to \(path); commands are refused until you chmod \(who)-w \(path)",
                    of: file
                )
                chmod(path, path == file ? 0o600 : 0o700)
            }
        }
    }

    /// Whoever can put another link in its place has another file run.
    @Test func aLinksOwnDirectoryCounts() throws {
        try self.withDirectory { directory in
            let open = "\(directory)/open"
            try #require(mkdir(open, 0o700) == 0)
            let links = ["\(open)/to-file": "../m.yaml", "\(open)/to-directory": ".."]
            for (link, target) in links { try #require(symlink(target, link) == 0) }
            let paths = ["\(open)/to-file", "\(open)/to-directory/m.yaml"]
            for path in paths { try self.expect(nil, of: path) }
            chmod(open, 0o777)
            for path in paths {
                try self.expect(
                    "other users may write to \(open); commands are refused until you chmod o-w \(open)",
                    of: path
                )
            }
            try self.expect(nil, of: "\(directory)/m.yaml")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs a second user"))
    func whatBelongsToSomebodyElseIsToldByWhoseItIs() throws {
        try self.withDirectory { directory in
            let (file, sticky) = ("\(directory)/m.yaml", "\(directory)/sticky")
            try #require(mkdir(sticky, 0o700) == 0)
            chmod(sticky, 0o1777)
            try #require(symlink(file, "\(sticky)/link") == 0)
            try self.expect(nil, of: "\(sticky)/link")
            lchown("\(sticky)/link", 65_534, 65_534)
            try self.expect(
                "everybody may write to \(sticky), and "
                    + "\(sticky)/link belongs to uid 65534; commands are refused until you chown it to root",
                of: "\(sticky)/link"
            )
            chown(file, 65_534, 0)
            try self.expect(
                "\(file) belongs to uid 65534; commands are refused until you "
                    + "chown it to root, or put the file elsewhere",
                of: file
            )
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs other groups"))
    func theOwnersOwnGroupIsNobodyElse() throws {
        try self.withDirectory { directory in
            let file = "\(directory)/m.yaml"
            chmod(directory, 0o770)
            chmod(file, 0o660)
            // Root's own group has no other member.
            try self.expect(nil, of: file)
            chown(file, 0, 65_534)
            try self.expect(
                "other users may write to \(file); commands are refused until you chmod g-w \(file)",
                of: file
            )
        }
    }

    /// `check` tells an author, and refuses nothing, for it runs nothing.
    @Test func whoOnlyChecksIsWarned() throws {
        try self.withDirectory { directory in
            chmod("\(directory)/m.yaml", 0o666)
            let file = try DeclarationFile(path: "\(directory)/m.yaml")
            let reading = file.checked(isStrict: false)
            #expect(reading.declaration != nil)
            let warning = reading.problems.first?.sentence ?? ""
            #expect(
                warning.contains(
                    "; the daemon and the runner refuse its commands until you chmod o-w "
                )
            )
            #expect(!reading.isRefused(strict: false))
            #expect(reading.isRefused(strict: true))
        }
    }

    @Test func anOpenFileIsReadByItsDescriptor() throws {
        try self.withDirectory { directory in
            let file = open("\(directory)/m.yaml", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            let link = "/proc/\(getpid())/fd/\(file)"
            try self.expect(
                "\(link) cannot be followed; commands are refused until you name the file itself",
                of: link
            )
        }
    }

    @Test func aCircleOfLinksEnds() throws {
        try self.withDirectory { directory in
            let path = "\(directory)/loop"
            try #require(symlink("loop", path) == 0)
            let error = #expect(throws: DeclarationFile.Unreadable.self) {
                try DeclarationFile(path: path)
            }
            #expect(error?.sentence == "cannot read \(path): Too many levels of symbolic links")
        }
    }

    @Test func aFileThatIsNotThereIsToldByItsName() throws {
        let error = #expect(throws: DeclarationFile.Unreadable.self) {
            try DeclarationFile(path: "/nowhere/machine.yaml")
        }
        #expect(error?.sentence == "cannot read /nowhere/machine.yaml: No such file or directory")
    }

    @Test(.bounded) func whatIsNoFileIsToldAsWhatItIs() throws {
        try self.withDirectory { directory in
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
