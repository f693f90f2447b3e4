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
                data: [JSON.Member("value", true)],
                ifSeq: 41,
                ifState: "authentication",
                reenter: true,
                cause: "login"
            ),
            #"{"op":"set","state":"ready","data":{"value":true},"ifSeq":41,"#
                + #""ifState":"authentication","reenter":true,"cause":"login"}"#
        ),
        (.watch(), #"{"op":"watch"}"#),
        (
            .watch(since: "7f3a9c:40", only: ["ready", ["state": "authentication"]]),
            #"{"op":"watch","since":"7f3a9c:40","only":["ready",{"state":"authentication"}]}"#
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
        #expect(JSON(typed: "true") == true)
        #expect(JSON(typed: "-3") == -3)
        #expect(JSON(typed: "[1]") == [1])
        #expect(JSON(typed: "active") == "active")
        #expect(JSON(typed: "") == "")
        #expect(JSON(typed: "\"3\"") == "3")
        #expect(JSON(typed: "{\"a\":1,\"a\":2}") == "{\"a\":1,\"a\":2}")
    }
}
