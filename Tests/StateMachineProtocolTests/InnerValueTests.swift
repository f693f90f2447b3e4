import Foundation
import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("What is inside a state's values") struct InnerValueTests {
    private let coding = StateCoding<Shop>()

    @Test("a date is RFC 3339, and any form of that is taken") func dates() throws {
        let moment = Date(timeIntervalSince1970: 1_795_336_200.25)
        let data = #"{"since":"2026-11-22T08:30:00.250000Z"}"#
        #expect(self.coding.data(of: .closed(since: moment)).text == data)
        for text in [
            "2026-11-22T08:30:00.25Z", "2026-11-22T09:30:00.250+01:00", "2026-11-22t08:30:00.25z",
        ] {
            #expect(try self.state("closed", #"{"since":"\#(text)"}"#) == .closed(since: moment))
        }
    }

    @Test(
        "what is no time is refused",
        arguments: [
            #""yesterday""#, #""2026-11-22""#, #""2026-02-30T00:00:00Z""#, #""""#, "1795336200",
            "null", "{}",
        ]
    )
    func wrongDates(_ value: String) {
        let error = self.refusal("closed", #"{"since":\#(value)}"#)
        #expect(error?.code == .badData)
        #expect(error?.message.hasPrefix("since of closed must be of type string") == true)
    }

    @Test("moments that RFC 3339 has no name for are the nearest that it has") func farDates() {
        let far = [
            Date.distantFuture, Date(timeIntervalSince1970: -1e12),
            Date(timeIntervalSince1970: .infinity),
        ]
        .map { self.coding.data(of: .closed(since: $0)).text }
        #expect(far[0] == #"{"since":"4001-01-01T00:00:00.000000Z"}"#)
        #expect(far[1] == #"{"since":"0000-01-01T00:00:00.000000Z"}"#)
        #expect(far[2] == #"{"since":"9999-12-31T23:59:59.999999Z"}"#)
    }

    @Test("an enum inside is written like the state itself, at any depth, and read back")
    func enums() throws {
        let drink = Shop.Drink.mixed(.coffee(cups: 2, true), .tea)
        let state = Shop.serving(
            Shop.Order(drink: drink, placed: nil, notes: ["b": 1, "a": 2]),
            next: .tea,
            round: [.coffee(cups: 1, false)]
        )
        let coffee = #"{"state":"coffee","data":{"cups":2,"value2":true}}"#
        let tea = #"{"state":"tea","data":{}}"#
        let mixed = #"{"state":"mixed","data":{"value":\#(coffee),"value2":\#(tea)}}"#
        let one = #"{"state":"coffee","data":{"cups":1,"value2":false}}"#
        let text =
            #"{"value":{"drink":\#(mixed),"notes":{"a":2,"b":1}},"next":\#(tea),"round":[\#(one)]}"#
        #expect(self.coding.data(of: state).text == text)
        #expect(try self.state("serving", text) == state)
        let brief = text.replacing(tea, with: #"{"state":"tea"}"#)
        #expect(try self.state("serving", brief) == state)
    }

    @Test(
        "a field that there is not is refused wherever it stands, with the path to it",
        arguments: [
            (
                #"{"drink":{"state":"tea"},"placd":null,"notes":{}}"#,
                #"value of serving has no field "placd"; known: drink, placed, notes"#
            ),
            (
                #"{"drink":{"state":"coffee","data":{"cups":1,"value2":true,"sugar":1}},"notes":{}}"#,
                #"value.drink.data of serving has no field "sugar"; known: cups, value2"#
            ),
            (
                #"{"drink":{"state":"coffee","data":{"cups":1,"_1":true}},"notes":{}}"#,
                #"serving needs "value.drink.data.value2" in its data"#
            ),
            (
                #"{"drink":{"state":"tea","data":{"sugar":1}},"notes":{}}"#,
                #"value.drink.data of serving has no field "sugar"; it has none"#
            ),
            (
                #"{"drink":{"state":"tea","data":{},"cups":1},"notes":{}}"#,
                #"value.drink of serving was refused: a case has no key "cups"; known: state, data"#
            ),
            (
                #"{"drink":{"tea":{}},"notes":{}}"#,
                #"value.drink of serving must be of type object, {"state":…,"data":{…}}"#
            ),
            (
                #"{"drink":"tea","notes":{}}"#,
                #"value.drink of serving must be of type object, {"state":…,"data":{…}}"#
            ),
            (
                #"{"drink":{"state":"te"},"notes":{}}"#,
                #"value.drink of serving was refused: there is no case "te""#
            ),
            (
                #"{"drink":{"state":"coffee"},"notes":{}}"#,
                #"serving needs "value.drink.data.cups" in its data"#
            ),
        ]
    )
    func unknownFields(_ order: String, _ message: String) {
        let error = self.refusal("serving", #"{"value":\#(order),"round":[]}"#)
        #expect(error?.code == .badData)
        #expect(error?.message == message)
    }

    @Test(
        "what an earlier version has written is carried over: numbers for dates, the compiler's form of cases"
    )
    func carriesOldForms() throws {
        let since = try JSONValue(reading: #"{"since":817029000.25}"#).members ?? []
        #expect(
            try self.coding.carried("closed", data: since)
                == .closed(since: Date(timeIntervalSinceReferenceDate: 817_029_000.25))
        )
        let order =
            #"{"value":{"drink":{"coffee":{"cups":2,"_1":true}},"notes":{}},"round":[{"tea":{}}]}"#
        let drink = Shop.Drink.coffee(cups: 2, true)
        #expect(
            try self.coding.carried("serving", data: JSONValue(reading: order).members ?? [])
                == .serving(Shop.Order(drink: drink), next: nil, round: [.tea])
        )
    }

    @Test("its fields are known all the same") func tellsFields() {
        let schema = StateCoding<Shop>().schema
        #expect(schema.states.map(\.name) == ["closed", "serving"])
        #expect(
            schema.states.map { $0.fields.map { "\($0.name): \($0.type.rawValue)" } }
                == [["since: string"], ["value: object", "next: object", "round: array"]]
        )
        #expect(self.coding.problems.isEmpty)
    }

    private func state(_ name: String, _ data: String) throws -> Shop {
        try self.coding.state(name, data: JSONValue(reading: data))
    }

    private func refusal(_ name: String, _ data: String) -> WireError? {
        #expect(throws: WireError.self) { _ = try self.state(name, data) }
    }
}
