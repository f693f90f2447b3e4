import StateMachineClient
import Testing

@Suite struct RequestTests {
    private static let golden: [(Request, String)] = [
        (.get, #"{"op":"get"}"#),
        (.ping.called("a"), #"{"op":"ping","id":"a"}"#),
        (.set("ready"), #"{"op":"set","state":"ready"}"#),
        (
            .set(
                "ready",
                data: [JSONMember("value", true)],
                ifSeq: 41,
                ifState: ["authentication"],
                reenter: true,
                cause: "login"
            ),
            #"{"op":"set","state":"ready","data":{"value":true},"ifSeq":41,"#
                + #""ifState":"authentication","reenter":true,"cause":"login"}"#
        ),
        (
            .set("s", data: [JSONMember("a", 1)], words: [JSONMember("b", "1")]),
            #"{"op":"set","state":"s","data":{"a":1},"words":{"b":"1"}}"#
        ),
        (
            .send("e", words: [JSONMember("b", "null")]),
            #"{"op":"send","event":"e","words":{"b":"null"}}"#
        ),
        (
            .update([], words: [JSONMember("b", "2")], ifStay: 3),
            #"{"op":"update","data":{},"words":{"b":"2"},"ifStay":3}"#
        ),
        (
            .update(
                [],
                adding: [JSONMember("n", 1)],
                ifSeq: 4,
                ifState: ["a"],
                cause: "c"
            ),
            #"{"op":"update","add":{"n":1},"ifSeq":4,"ifState":"a","cause":"c"}"#
        ),
        (.watch(), #"{"op":"watch"}"#),
        (
            .watch(since: "7f3a9c:40", only: ["ready", ["state": "authentication"]]),
            #"{"op":"watch","since":"7f3a9c:40","only":["ready",{"state":"authentication"}]}"#
        ),
        (
            .watch(pace: Pace(isLatest: true, every: .milliseconds(250), beat: .seconds(30))),
            #"{"op":"watch","mode":"latest","everyMs":250,"beatMs":30000}"#
        ),
        (.stats, #"{"op":"stats"}"#),
        (.history(), #"{"op":"history"}"#),
        (
            .history(since: "7f3a9c:40", limit: 10, only: ["ready"]),
            #"{"op":"history","since":"7f3a9c:40","limit":10,"only":["ready"]}"#
        ),
        (.hold(before: ["ready"]), #"{"op":"hold","before":["ready"]}"#),
        (
            .hold(before: ["a", "b"], mode: .delay, limit: .seconds(2), why: "saving"),
            #"{"op":"hold","before":["a","b"],"mode":"delay","maxMs":2000,"why":"saving"}"#
        ),
        (.release(3), #"{"op":"release","hold":3}"#),
        (.release(required: "display"), #"{"op":"release","required":"display"}"#),
        (
            .guard(before: ["ready"], required: "display"),
            #"{"op":"guard","before":["ready"],"required":"display"}"#
        ),
        (.guard(before: ["a"]), #"{"op":"guard","before":["a"]}"#),
        (
            .guard(before: ["a"], timeout: .seconds(1), onTimeout: .deny, why: "no"),
            #"{"op":"guard","before":["a"],"timeoutMs":1000,"onTimeout":"deny","why":"no"}"#
        ),
        (.vote(7, allow: true), #"{"op":"vote","ask":7,"allow":true}"#),
        (
            .vote(7, allow: false, why: "unsaved work"),
            #"{"op":"vote","ask":7,"allow":false,"why":"unsaved work"}"#
        ),
        (.wait(until: ["ready"]), #"{"op":"wait","until":["ready"]}"#),
        (
            .wait(until: ["a"], fail: ["b"], since: "c", timeout: .microseconds(1_500_001)),
            #"{"op":"wait","until":["a"],"fail":["b"],"since":"c","timeoutMs":1501}"#
        ),
        (.wait(until: ["a"], timeout: .zero), #"{"op":"wait","until":["a"],"timeoutMs":0}"#),
        (.wait(until: ["a"], timeout: .seconds(-1)), #"{"op":"wait","until":["a"],"timeoutMs":0}"#),
        (
            .wait(until: ["a"], timeout: .seconds(Int64.max)),
            #"{"op":"wait","until":["a"],"timeoutMs":9007199254740991}"#
        ),
    ]

    @Test(arguments: golden)
    func aRequestIsOneLine(request: Request, text: String) {
        #expect(String(decoding: request.line, as: UTF8.self) == text + "\n")
    }

    @Test func aTypedValueIsJSONOrElseAString() {
        #expect(JSONValue(typed: "true") == true)
        #expect(JSONValue(typed: "-3") == -3)
        #expect(JSONValue(typed: "[1]") == [1])
        #expect(JSONValue(typed: "active") == "active")
        #expect(JSONValue(typed: "") == "")
        #expect(JSONValue(typed: "\"3\"") == "3")
        #expect(JSONValue(typed: "{\"a\":1,\"a\":2}") == "{\"a\":1,\"a\":2}")
    }
}
