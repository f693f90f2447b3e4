import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("The example of a description")
struct DescriptionTests {
    @Test("is written as a server writes it, and has its keys in this order")
    func isWrittenAsAServerWritesIt() throws {
        for line in try Fixture.descriptions.lines() {
            #expect(try JSONValue(reading: line).text == line)
        }
        let keys = try self.description().members?.map(\.key)
        #expect(
            keys == [
                "type", "ok", "states", "initial", "transitions", "operations", "errors", "limits",
                "protocol", "version", "features",
            ]
        )
    }

    @Test("has the states of the stock type with their fields")
    func hasTheStates() throws {
        let description = try self.description()
        let schema = StateCoding<AppState>().described
        let states = try #require(description["states"]?.elements)
        #expect(states.map { $0["state"]?.string } == schema.names)
        for (state, found) in zip(states, schema.cases) {
            let fields = try #require(state["fields"]?.members)
            #expect(fields.map(\.key) == found.fields.map(\.name))
            #expect(fields.map { $0.value["type"]?.string } == found.fields.map(\.type.rawValue))
        }
        let coding = StateCoding<AppState>()
        #expect(description["initial"]?["state"]?.string == AppState.initial.name.rawValue)
        #expect(description["initial"]?["data"] == coding.data(of: .initial))
        for found in schema.cases {
            let successors = description["transitions"]?[found.name]?.elements
            #expect(successors?.map(\.string) == found.successors)
        }
    }

    @Test("has every operation, every error and the limits of a request")
    func hasOperationsErrorsAndLimits() throws {
        let description = try self.description()
        #expect(
            description["operations"]?.elements?.map(\.string)
                == Operation.allCases.filter { !$0.isOfEvents }.map(\.rawValue)
        )
        #expect(
            description["errors"]?.elements?.map(\.string)
                == ErrorCode.allCases.filter { !ErrorCode.ofEvents.contains($0) }.map(\.rawValue)
        )
        let limits = try #require(description["limits"])
        #expect(limits["lineBytes"]?.integer == Int64(RequestLimits.lineBytes))
        #expect(limits["stateBytes"]?.integer == Int64(RequestLimits.stateBytes))
        #expect(limits["causeBytes"]?.integer == Int64(RequestLimits.causeBytes))
        #expect(limits["idBytes"]?.integer == Int64(RequestLimits.idBytes))
        #expect(limits["voteMs"]?.integer == Int64(RequestLimits.voteMs))
        #expect(limits["historyChanges"]?.integer == Int64(RequestLimits.historyChanges))
        #expect(description["protocol"] == .number("1"))
        let features = description["features"]?.elements
        #expect(features?.map(\.string) == Feature.allCases.map(\.rawValue))
    }

    @Test("stands beside one of help, which names every operation")
    func standsBesideHelp() throws {
        let help = try #require(
            try JSONValue(reading: Fixture.descriptions.lines()[1])["help"]?.string
        )
        for operation in Operation.allCases where !operation.isOfEvents {
            #expect(help.split(separator: "\n").contains { $0.hasPrefix(operation.rawValue) })
        }
    }

    private func description() throws -> JSONValue {
        try JSONValue(reading: Fixture.descriptions.lines()[0])
    }
}
