import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A state that is not one is refused, with what would be right") struct StateRefusalTests {
    @Test(
        "data of any type",
        arguments: [
            ("idle", #"{"a":1}"#, "idle has no field \"a\"; it has none"),
            ("queued", #"{"value":1.0}"#, "value of queued must be of type integer, not number"),
            ("queued", #"{"value":"1"}"#, "value of queued must be of type integer, not string"),
            ("queued", #"{"value":null}"#, "value of queued must be of type integer, not null"),
            (
                "queued", #"{"value":9223372036854775808}"#,
                "value of queued must be of type integer, "
                    + "-9223372036854775808 to 9223372036854775807"
            ),
            ("paired", #"{"value":1}"#, "paired needs \"value2\" in its data"),
            ("maybe", #"{"value":0}"#, "value of maybe must be one of false, true"),
            (
                "ended", #"{"after":1,"befor":1}"#,
                "ended has no field \"befor\"; known: value, after"
            ),
            ("coded", #"{"value":"gone"}"#, "value of coded must be of type integer, not string"),
            ("stopped", #"{"reason":"asked","level":2}"#, "level of stopped must be one of 1, 10"),
            (
                "failed", #"{"before":1,"kind":"disk","retires":2}"#,
                "failed has no field \"retires\"; known: before, kind, retries"
            ),
            ("failed", #"{"kind":"disk"}"#, "failed needs \"before\" in its data"),
            (
                "failed", #"{"before":1,"kind":"disk","retries":"2"}"#,
                "retries of failed must be of type integer, not string"
            ),
        ]
    )
    func dataOfAnyType(_ name: String, _ data: String, _ message: String) {
        let error = self.refusal(StateCoding<Job>(), name, data)
        #expect(error?.code == .badData)
        #expect(error?.message == message)
    }

    @Test("a string that its type does not take is refused in that type's words, cut short")
    func stringThatItsTypeDoesNotTake() throws {
        let long = String(repeating: "x", count: 60_000)
        for kind in ["tape", "", long] {
            let error = try #require(
                self.refusal(
                    StateCoding<Job>(),
                    "failed",
                    #"{"before":1,"kind":"\#(kind)","retries":1}"#
                )
            )
            #expect(error.code == .badData)
            #expect(error.message.hasPrefix("kind of failed was refused: "))
            #expect(error.message.utf8.count < 256)
        }
    }

    @Test(
        "a nested value, with the path to it",
        arguments: [
            (#"{"name":1}"#, "owner.name of running must be of type string"),
            (#"{}"#, "running needs \"owner.name\" in its data"),
            (
                #"{"name":"","uid":-1,"groups":[]}"#,
                "owner.uid of running must be of type integer, 0 to 4294967295"
            ),
            (#"{"name":"","groups":{}}"#, "owner.groups of running must be of type array"),
        ]
    )
    func nestedValue(_ owner: String, _ message: String) {
        let error = self.refusal(
            StateCoding<Job>(),
            "running",
            #"{"id":1,"ratio":1,"tags":[],"owner":\#(owner)}"#
        )
        #expect(error?.code == .badData)
        #expect(error?.message == message)
    }

    @Test(
        "a number that its type cannot hold",
        arguments: [
            ("unsigned", #"{"u8":256,"u16":0,"u32":0,"u64":0}"#, "u8", "integer, 0 to 255"),
            ("unsigned", #"{"u8":-1,"u16":0,"u32":0,"u64":0}"#, "u8", "integer, 0 to 255"),
            ("signed", #"{"i8":128,"i16":0,"i32":0,"i64":0}"#, "i8", "integer, -128 to 127"),
            ("real", #"{"single":1e39,"double":0}"#, "single", "number, within what a Float holds"),
            (
                "real", #"{"single":0,"double":1e309}"#, "double",
                "number, within what a Double holds"
            ),
        ]
    )
    func numberThatItsTypeCannotHold(
        _ name: String,
        _ data: String,
        _ field: String,
        _ expectation: String
    ) {
        let error = self.refusal(StateCoding<Gauge>(), name, data)
        #expect(error?.code == .badData)
        #expect(error?.message == "\(field) of \(name) must be of type \(expectation)")
    }

    private func refusal<State: EnumState>(
        _ coding: StateCoding<State>,
        _ name: String,
        _ data: String?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> WireError? {
        #expect(throws: WireError.self, sourceLocation: sourceLocation) {
            _ = try coding.state(name, data: try data.map { text in try JSONValue(reading: text) })
        }
    }

    /// An end that was left out, letters that were swapped, a letter that is wrong, another word.
    @Test(
        "the name that was meant",
        arguments: [
            ("stat", "state"), ("stya", "stay"), ("staz", "stay"), ("cursors", "cursor"),
            ("nothing", nil),
        ] as [(String, String?)]
    )
    func nearestName(name: String, meant: String?) {
        #expect(NearestName.of(name, among: ["stay", "state", "seq", "cursor"]) == meant)
    }
}
