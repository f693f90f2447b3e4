import StateMachineDeclaration
import StateMachineProtocol
import Testing

/// How the end of a run is written in an event.
@Suite struct RunEndTests {
    @Test(arguments: [
        (RunEnd.exit(0), #"{"exit":0}"#),
        (.exit(255), #"{"exit":255}"#),
        (.signal("SIGKILL"), #"{"signal":"SIGKILL"}"#),
        (.signal("SIGRTMIN+3"), #"{"signal":"SIGRTMIN+3"}"#),
        (.timeout, #"{"timeout":true}"#),
        (.interrupted, #"{"interrupted":true}"#),
    ])
    func eachIsReadAsItIsWritten(end: RunEnd, json: String) throws {
        #expect(end.data.description == json)
        #expect(try RunEnd(#require(end.data.members)) == end)
    }

    @Test func nullIsNotThere() throws {
        #expect(try RunEnd(self.members(#"{"exit":3,"signal":null}"#)) == .exit(3))
    }

    @Test(arguments: [
        ("{}", "run.ended needs one of exit, signal, timeout, interrupted"),
        (#"{"exit":null}"#, "run.ended needs one of exit, signal, timeout, interrupted"),
        (
            #"{"exit":0,"timeout":true}"#,
            "run.ended needs one of exit, signal, timeout, interrupted"
        ),
        (#"{"exits":0}"#, #""run.ended" has no field "exits"; did you mean exit?"#),
        (#"{"exit":256}"#, "exit=256: an exit code must be a number from 0 to 255"),
        (#"{"exit":-1}"#, "exit=-1: an exit code must be a number from 0 to 255"),
        (#"{"exit":"0"}"#, #"exit="0": an exit code must be a number from 0 to 255"#),
        (#"{"signal":9}"#, "signal=9: write the name of the signal, like SIGKILL"),
        (#"{"signal":"KILL"}"#, #"signal="KILL": write the name of the signal, like SIGKILL"#),
        (#"{"signal":"SIG"}"#, #"signal="SIG": write the name of the signal, like SIGKILL"#),
        (#"{"signal":"SIGK\n"}"#, #"signal="SIGK\n": write the name of the signal, like SIGKILL"#),
        (#"{"timeout":false}"#, "timeout=false: write true, or leave it out"),
        (#"{"interrupted":1}"#, "interrupted=1: write true, or leave it out"),
    ])
    func whatIsNoEndIsToldFrom(json: String, sentence: String) throws {
        let members = try self.members(json)
        let refusal = #expect(throws: WireError.self) { try RunEnd(members) }
        #expect(refusal?.message == sentence)
    }

    private func members(_ json: String) throws -> [JSONMember] {
        try #require(JSONValue(parsing: json)?.members)
    }
}
