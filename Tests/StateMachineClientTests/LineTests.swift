import DaemonScripts
import StateMachineClient
import StateMachineCore
import Testing

@Suite struct LineTests {
    @Test func aChangeIsReadToTheLastKey() throws {
        let text = """
            {"type":"change","id":1,"seq":42,"state":"ready","data":{"value":true},\
            "from":{"state":"authentication","data":{"phase":"active"}},\
            "at":"2026-11-20T21:55:03.120007Z","by":{"uid":1000,"pid":4711},"cause":"login",\
            "cursor":"7f3a9c:42","replay":true}
            """
        let line = try #require(Line(Array(text.utf8)))
        #expect(line.text == text)
        #expect(line.kind == .change)
        #expect(line.id == 1)
        #expect(line.seq == 42)
        #expect(line.state == NamedState("ready", [JSONMember("value", true)]))
        #expect(line.from == NamedState("authentication", [JSONMember("phase", "active")]))
        #expect(line.at == WallTime(microseconds: 1_795_211_703_120_007))
        #expect(line.by == Peer(uid: 1000, pid: 4711))
        #expect(line.cause == "login")
        #expect(line.cursor == "7f3a9c:42")
        #expect(line.isReplay)
    }

    @Test func aRefusalSaysWhyAndWhatThereIs() throws {
        let line = try Line.of(
            """
            {"type":"reply","ok":false,"error":"unknown-state","message":"no","known":["a","b"]}
            """
        )
        #expect(line.isOK == false)
        #expect(line.error == .unknownState)
        #expect(line.message == "no")
        #expect(line.known == ["a", "b"])
    }

    @Test func whatIsNotKnownIsKept() throws {
        let line = try Line.of(#"{"type":"omen","depth":{"of":3},"resync":"flooded","missed":7}"#)
        #expect(line.kind == .other("omen"))
        #expect(line["depth"]?["of"] == 3)
        #expect(line.resync == "flooded")
        #expect(line.missed == 7)
        #expect(line.state == nil)
    }

    @Test func theAuthorsOfAVetoAreNotTakenForOnePeer() throws {
        let line = try Line.of(#"{"type":"reply","by":[{"guard":3,"uid":1000,"pid":812}]}"#)
        #expect(line.by == nil)
        #expect(line["by"]?.elements?.count == 1)
    }

    @Test(arguments: ["", "[]", "hello", #"{"seq":1}"#, #"{"type":1}"#, #"{"type":"state""#])
    func whatIsNoObjectWithATypeIsNoLine(text: String) {
        #expect(Line(Array(text.utf8)) == nil)
    }

    @Test func aFarewellSaysWhenToComeAgain() throws {
        let line = try Line.of(#"{"type":"bye","reason":"restart","retryMs":200}"#)
        #expect(line.reason == "restart")
        #expect(line.retryDelay == .milliseconds(200))
    }

    @Test func aStateBecomesAValueOfTheEnumAndBack() {
        let reader = StateCoding<AppState>()
        let named = NamedState("authentication", [JSONMember("phase", "active")])
        #expect(reader.state(named) == .authentication(.active))
        #expect(reader.named(.authentication(.active)) == named)
        #expect(reader.state(NamedState("elsewhere")) == nil)
    }
}
