import Foundation
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol
import Testing

@Suite struct MachineTests {
    private static let names = ["kiosk", "ota", "worker"]

    @Test(arguments: Self.names) func theDocumentedMachinesHaveNoErrors(name: String) throws {
        let declaration = try Fixture.machine(name)
        #expect(declaration.machine == name)
    }

    @Test func theDocumentedMachinesAreWarnedOfWhatTheyRisk() throws {
        let kiosk = problems(try Fixture.text("machines/kiosk.yaml"))
        #expect(
            kiosk
                == [
                    "file:26:5: warning: when the run of \"menu\" ends with exit 0, the state continues and "
                        + "nothing runs; write \"done\" to say where that leads, or restart: always to run it again"
                ]
                + [(28, "off"), (41, "no"), (55, "off")]
                .map {
                    "file:35:\($0): warning: \($1) is text here, but YAML 1.1 tools read it as a boolean; "
                        + "write \"\($1)\""
                }
        )
        let ota = problems(try Fixture.text("machines/ota.yaml"))
        #expect(
            ota == [
                "file:47:5: warning: the run of \"rolling-back\" may hang for ever, and nothing else leads "
                    + "out of the state; give it a timeout"
            ]
        )
        #expect(problems(try Fixture.text("machines/worker.yaml")).isEmpty)
    }

    private static let examples = URL(filePath: #filePath)
        .appending(path: "../../../contrib/machines").standardized

    /// The examples' names, of those files that end so.
    private static func examples(_ ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.examples.path)
            .filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }.sorted()
    }

    private static func text(of name: String) throws -> String {
        try String(contentsOf: self.examples.appending(path: name), encoding: .utf8)
    }

    @Test(arguments: try Self.examples(".yaml"))
    func theExamplesHaveNeitherErrorsNorWarnings(name: String) throws {
        let bytes = Array(try Self.text(of: "\(name).yaml").utf8)
        let problems = DeclarationReading(bytes, isStrict: true).problems
        #expect(problems.map { $0.line(in: name) } == [])
    }

    @Test(arguments: try Self.examples(".trace"))
    func theExamplesGoAsTheirTracesSay(name: String) throws {
        let machine = try declaration(try Self.text(of: "\(name).yaml"))
        _ = try Trace(try Self.text(of: "\(name).trace")).run(on: machine)
    }

    @Test func theKioskIsReadAsItIsMeant() throws {
        let kiosk = try Fixture.machine("kiosk")
        #expect(
            kiosk.stateNames == ["booting", "attract", "menu", "playing", "broken", "maintenance"]
        )
        let playing = kiosk.states[3]
        #expect(playing.fields.map(\.name) == ["title", "volume", "subtitles"])
        #expect(playing.fields[2].values == ["off", "de", "en", "no"].map { .string($0) })
        #expect(playing.fields[2].fallback == .string("off"))
        #expect(playing.run?.command.user == "kiosk")
        #expect(playing.run?.command.words.count == 3)
        #expect(playing.after.map(\.moment) == [.after(.seconds(10_800))])
        #expect(kiosk.states[0].run?.command.timeout == .seconds(60))
        #expect(kiosk.states[0].run?.command.retry?.times == 2)
        #expect(kiosk.states[1].enter.first?.timeout == .seconds(60))
        #expect(kiosk.states[1].enter.first?.stop == .seconds(10))
        #expect(kiosk.states[4].successors == [0, 5])
        #expect(kiosk.breaker.most == 50)
        #expect(kiosk.initial.declared.name == "booting")
        #expect(kiosk.schema.lost([])?.name == "booting")
    }

    @Test(arguments: Self.names) func theDocumentedMachinesGoAsTheirTracesSay(name: String) throws {
        let trace = try Trace(try Fixture.text("traces/\(name).trace"))
        do {
            _ = try trace.run(on: try Fixture.machine(name))
        } catch let error as TraceFailure {
            Issue.record("\(error.text(in: name))")
        }
    }
}
