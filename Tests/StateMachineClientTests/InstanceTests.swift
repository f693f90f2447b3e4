import Foundation
import Testing

@testable import StateMachineClient

@Suite struct InstanceTests {
    /// Runs the body with two directories that contain doors as plain files: they are only looked
    /// up.
    private func withDoors(
        _ doors: [String],
        _ body: (_ system: String, _ user: String) throws -> Void
    ) throws {
        let root = FileManager.default.temporaryDirectory
            .appending(path: "instances-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for door in doors {
            let file = root.appending(path: door)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data().write(to: file)
        }
        try body(root.appending(path: "system").path, root.appending(path: "user").path)
    }

    @Test func allWithADoorAreFoundInOrder() throws {
        let doors = [
            "system/events.sock", "system/right/control.sock", "system/left/events.sock",
            "system/empty/other", "user/left/events.sock",
        ]
        try self.withDoors(doors) { system, user in
            let found = Instance.all(in: [RuntimeDirectory(system), RuntimeDirectory(user)])
            #expect(found.map(\.name) == [nil, "left", "right", "left"])
            #expect(
                found.map(\.directory.path)
                    == [system, "\(system)/left", "\(system)/right", "\(user)/left"]
            )
        }
    }

    /// Also when the variable is the directory of one that the user's directory has under its name.
    @Test(arguments: ["statemachine", "statemachine/", "statemachine/left"])
    func whatTheVariableNamesIsSearchedFirstAndListedOnce(_ named: String) throws {
        try self.withDoors(["run/statemachine/left/events.sock"]) { system, _ in
            let run = URL(filePath: system).deletingLastPathComponent().appending(path: "run").path
            let environment = [
                "XDG_RUNTIME_DIR": run, "STATEMACHINE_RUNTIME_DIRECTORY": "\(run)/\(named)",
            ]
            let found = try Instance.directory(of: "left") { environment[$0] }
            #expect(found.path == "\(run)/statemachine/left")
            let all = Instance.all { environment[$0] }.filter { $0.directory.path.hasPrefix(run) }
            #expect(all == [Instance(name: "left", directory: found)])
            let alone = ["STATEMACHINE_RUNTIME_DIRECTORY": "\(run)/statemachine"]
            #expect(try Instance.directory(of: "left") { alone[$0] } == found)
        }
    }

    /// As `statectl` sets the variable for what it runs.
    @Test func besideAMachinesOwnDirectoryItsNeighboursAreFoundUnlessOthersMayWriteThere() throws {
        let doors = ["sock/water/events.sock", "sock/brew/events.sock"]
        try self.withDoors(doors) { system, _ in
            let sock = URL(filePath: system).deletingLastPathComponent().appending(path: "sock")
                .path
            chmod(sock, 0o755)
            let environment = ["STATEMACHINE_RUNTIME_DIRECTORY": "\(sock)/water"]
            let found = try Instance.directory(of: "brew") { environment[$0] }
            #expect(found.path == "\(sock)/brew")
            let error = #expect(throws: ClientError.self) {
                try Instance.directory(of: "nosuch") { environment[$0] }
            }
            #expect(
                error?.description.contains("\(sock)/water/nosuch and \(sock)/nosuch and ") == true
            )
            chmod(sock, 0o757)
            #expect(throws: ClientError.self) {
                try Instance.directory(of: "brew") { environment[$0] }
            }
        }
    }

    @Test func ofTwoOfANameTheFirstDirectorysIsMeant() throws {
        try self.withDoors(["run/statemachine/left/events.sock"]) { system, _ in
            let run = URL(filePath: system).deletingLastPathComponent().appending(path: "run").path
            let environment = ["XDG_RUNTIME_DIR": run]
            let found = try Instance.directory(of: "left") { environment[$0] }
            #expect(found.path == "\(run)/statemachine/left")
            let error = #expect(throws: ClientError.self) {
                try Instance.directory(of: "lefr") { environment[$0] }
            }
            let looked = "(looked for /run/statemachine/lefr and \(run)/statemachine/lefr)"
            #expect(error?.description.contains(looked) == true)
            #expect(error?.description.contains("did you mean left?") == true)
            // An error with a suggestion does not also point to a unit that does not exist.
            #expect(error?.description.contains("systemctl") == false)
            let far = #expect(throws: ClientError.self) {
                try Instance.directory(of: "elsewhere") { environment[$0] }
            }
            #expect(far?.description.contains("; known: ") == true)
            #expect(far?.description.contains("left") == true)
            let alone = ClientError.noInstance("elsewhere", tried: [run], known: [])
            #expect(alone.description.contains("systemctl status statemachine@elsewhere"))
            for name in ["right", "", "..", "../statemachine/left", "."] {
                #expect(throws: ClientError.self) {
                    try Instance.directory(of: name) { environment[$0] }
                }
            }
        }
    }

    private func discover(
        _ environment: [String: String] = [:],
        isRoot: Bool = false,
        sockets: [String] = []
    ) throws -> String {
        try RuntimeDirectory.discover(
            environment: { environment[$0] },
            isRoot: isRoot,
            hasSocket: { sockets.contains($0.path) }
        ).path
    }

    @Test func theVariableOfOurOwnComesBeforeAllAndSystemdsIsNotAsked() throws {
        var environment = ["RUNTIME_DIRECTORY": "/run/a:/run/b", "XDG_RUNTIME_DIR": "/run/user/1"]
        let found = try self.discover(environment, sockets: ["/run/statemachine"])
        #expect(found == "/run/statemachine")
        environment["STATEMACHINE_RUNTIME_DIRECTORY"] = "/run/c"
        let named = try self.discover(environment, sockets: ["/run/statemachine"])
        #expect(named == "/run/c")
    }

    @Test func rootLooksWhereRootsDaemonIs() throws {
        let environment = ["XDG_RUNTIME_DIR": "/run/user/0"]
        let found = try self.discover(
            environment,
            isRoot: true,
            sockets: ["/run/user/0/statemachine"]
        )
        #expect(found == "/run/statemachine")
    }

    @Test func othersPreferTheSystemsDaemonToTheirOwn() throws {
        let environment = ["XDG_RUNTIME_DIR": "/run/user/1"]
        let own = "/run/user/1/statemachine"
        #expect(
            try self.discover(environment, sockets: ["/run/statemachine", own])
                == "/run/statemachine"
        )
        #expect(try self.discover(environment, sockets: [own]) == own)
    }

    @Test func theErrorNamesAllThatWasTried() throws {
        let environment = ["XDG_RUNTIME_DIR": "/run/user/1", "STATEMACHINE_RUNTIME_DIRECTORY": ""]
        let error = #expect(throws: ClientError.self) { try self.discover(environment) }
        let sentence = try #require(error).description
        #expect(sentence.contains("/run/statemachine/events.sock"))
        #expect(sentence.contains("/run/user/1/statemachine/events.sock"))
    }
}
