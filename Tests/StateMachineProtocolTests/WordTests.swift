import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A word for a field") struct WordTests {
    private let coding = StateCoding<Job>()

    private func state(_ line: String) throws -> Job? {
        let request = try #require(try Request.parse(Array(line.utf8)))
        guard case .set(let call) = try self.coding.schema.resolved(request.call) else {
            return nil
        }
        return try self.coding.state(call.state.text, data: call.data?.value)
    }

    @Test(
        "means what the field's type says, and never what it looks like",
        arguments: [
            ("set queued value=-3", .queued(-3)),
            ("set queued value=007", .queued(7)),
            ("set paired value=1 value2=2", .paired(1, "2")),
            ("set paired value=1 value2=true", .paired(1, "true")),
            ("set paired value=1 value2=null", .paired(1, "null")),
            ("set paired value=1 value2=[1]", .paired(1, "[1]")),
            ("set paired value=1 value2=\"x\"", .paired(1, "\"x\"")),
            ("set paired value=1 value2=", .paired(1, "")),
            ("set paired value=1 value2:=\"x\"", .paired(1, "x")),
            ("set maybe value=true", .maybe(true)),
            ("set maybe value=null", .maybe(nil)),
            ("set maybe value:=null", .maybe(nil)),
            ("set maybe", .maybe(nil)),
            ("set stopped reason=idle level=10", .stopped(reason: .idle, level: .high)),
            ("set coded value=410", .coded(.gone)),
            // A word by itself is for the only field that has no value yet.
            ("set queued 7", .queued(7)),
            ("set paired value=1 null", .paired(1, "null")),
            ("set paired 7 value2=a", .paired(7, "a")),
            ("set maybe true", .maybe(true)),
            ("set stopped level=10 idle", .stopped(reason: .idle, level: .high)),
            (#"{"op":"set","state":"queued","words":{"":"7"}}"#, .queued(7)),
            // Where probing found no type, a word's look decides.
            (
                "set failed before=1 kind=disk retries=2",
                .failed(before: 1, kind: .disk, retries: 2)
            ),
            (
                "set running id=18446744073709551615 ratio=1e2 tags=[\"1\"] owner={\"name\":\"a\",\"groups\":[]} note=2",
                .running(
                    id: .max,
                    ratio: 100,
                    tags: ["1"],
                    owner: Job.Owner(name: "a", uid: nil),
                    note: "2"
                )
            ),
            (
                #"{"op":"set","state":"paired","data":{"value":1},"words":{"value2":"2"}}"#,
                .paired(1, "2")
            ),
        ] as [(String, Job)]
    )
    func meansWhatTheTypeSays(_ line: String, _ state: Job) throws {
        #expect(try self.state(line) == state)
    }

    @Test(
        "that is no value of the field is refused as any other",
        arguments: [
            ("set queued value=x", "value of queued must be of type integer, not string"),
            ("set queued value=+1", "value of queued must be of type integer, not string"),
            ("set queued value=1.0", "value of queued must be of type integer, not string"),
            ("set queued value=null", "value of queued must be of type integer, not string"),
            ("set queued value:=\"1\"", "value of queued must be of type integer, not string"),
            ("set paired value=1 value2:=2", "value2 of paired must be of type string, not number"),
            ("set maybe value=yes", "value of maybe must be one of false, true"),
            ("set stopped reason=idle level=2", "level of stopped must be one of 1, 10"),
            ("set paired 7", "\"7\" could be value or value2 of paired; write value=7"),
            ("set stopped idle", "\"idle\" could be reason or level of stopped; write reason=idle"),
            ("set stopped 10", "\"10\" could be reason or level of stopped; write level=10"),
            (
                "set queued value=1 2",
                "\"2\" has no name, and queued needs no further value; write key=value"
            ),
            ("set queued x", "value of queued must be of type integer, not string"),
            ("set queued valeu=1", "queued has no field \"valeu\"; known: value"),
        ]
    )
    func isRefused(_ line: String, _ message: String) {
        let error = #expect(throws: WireError.self) { _ = try self.state(line) }
        #expect(error?.code == .badData)
        #expect(error?.message == message)
    }

    @Test(
        "means the same in a pattern",
        arguments: [
            ("paired:value2=2", Job.paired(1, "2"), true),
            ("paired:value2=2,value=1", .paired(1, "2"), true),
            ("paired:value2=null", .paired(1, "null"), true),
            ("paired:value2:=\"2\"", .paired(1, "2"), true),
            ("paired:value2=2", .paired(2, "1"), false),
            ("queued:value=7", .queued(7), true),
            ("queued:7", .queued(7), true),
            ("queued:7", .queued(8), false),
            ("paired:value=1,null", .paired(1, "null"), true),
        ]
    )
    func meansTheSameInAPattern(_ text: String, _ state: Job, _ matches: Bool) throws {
        let pattern = try self.coding.schema.resolved(Pattern(text: text))
        #expect(self.coding.matches(pattern, state) == matches)
    }
}
