import StateMachineClient
import TestSupport
import Testing

@Suite(.bounded) struct HistoryTests {
    private static let change =
        #"{"type":"change","seq":2,"state":"b","data":{},"cursor":"e:2","replay":true}"#
    private static let reply = #"{"type":"reply","ok":true,"count":1,"more":true}"#

    @Test func changesComeBeforeTheReply() async throws {
        let control = ScriptedDoor([
            .awaitRequest, .send(Self.change + "\n"), .send(Self.reply + "\n"),
        ])
        try await ScriptedDaemon.with(control: control) { daemon in
            var changes: [String] = []
            let reply = try await daemon.client.history(since: "e:1", limit: 1, only: ["b"]) {
                changes.append($0.text)
            }
            #expect(changes == [Self.change])
            #expect(reply.text == Self.reply)
            #expect(reply.count == 1)
            #expect(reply.hasMore)
            #expect(
                control.requests == [#"{"op":"history","since":"e:1","limit":1,"only":["b"]}"#]
            )
        }
    }

    @Test func aListThatIsCutOffIsALostConnection() async throws {
        let control = ScriptedDoor([.awaitRequest, .send(Self.change + "\n"), .close])
        try await ScriptedDaemon.with(control: control) { daemon in
            let path = daemon.directory.socketPath(of: .control)
            await #expect(throws: ClientError.lost(path: path)) {
                _ = try await daemon.client.history { _ in }
            }
        }
    }
}
