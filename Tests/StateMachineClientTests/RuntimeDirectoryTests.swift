import Testing

@testable import StateMachineClient

@Suite struct RuntimeDirectoryTests {
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
