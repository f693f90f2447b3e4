import StateMachineClient
import Testing

@testable import statectl

/// Types that are generated of names that no language has.
@Suite struct CodegenTests {
    private let types = MachineTypes(
        description: JSONValue(
            parsing: #"""
                {"machine":"odd \"one\"","states":[{"state":"roll-back","fields":{"class":{"type":"integer"},\#
                "disk-low":{"type":"string","values":["a\"b","c"],"optional":true},"disk_low":{"type":"number"}}},\#
                {"state":"rollBack","fields":{}},{"state":"4k","fields":{"on":{"type":"boolean","values":[true]}}}],\#
                "events":{"play":{"title":{"type":"string"},"volume":{"type":"integer","default":40}}}}
                """#
        ) ?? .null
    )

    @Test func fieldsAndClassesHaveNamesThatPythonCanHave() {
        let text = PythonText.text(self.types)
        for line in [
            #"# The types of the machine "odd \"one\"", made by `statectl codegen python`; make them again rather than edit them."#,
            "class RollBackState:", "class RollBackState2:", "class _4kState:", "class PlayEvent:",
            #"    NAME: ClassVar[Literal["roll-back"]] = "roll-back""#,
            "    class_: int", #"    disk_low: Optional[Literal["a\"b", "c"]] = None"#,
            "    disk_low2: float",
            #"        data: dict[str, Any] = {"class": self.class_, "disk_low": self.disk_low2}"#,
            #"            data["disk-low"] = self.disk_low"#, "    on: Literal[True]",
            "    title: str", "    volume: int = 40",
            #"        return cls(class_=data["class"], disk_low2=data["disk_low"], disk_low=data.get("disk-low"))"#,
        ] {
            #expect(text.split(separator: "\n").contains(line[...]), "\(line)\n\(text)")
        }
    }

    @Test func aFieldThatIsCalledLikeItsClassDoesNotHideIt() {
        let types = MachineTypes(
            description: [
                "states": [["state": "Boot", "fields": ["BootState": ["type": "string"]]]]
            ]
        )
        let text = PythonText.text(types)
        #expect(text.contains("\n    BootState_: str\n"), "\(text)")
        #expect(text.contains(#"return cls(BootState_=data["BootState"])"#), "\(text)")
    }

    @Test func fieldsOfTypeScriptKeepTheWiresNames() {
        let text = TypeScriptText.text(self.types)
        for line in [
            "export interface RollBackState {", "export interface RollBackState2 {",
            #"    readonly state: "roll-back";"#, #"        readonly "disk-low"?: "a\"b" | "c";"#,
            #"        readonly "class": number;"#, "    readonly data: Record<string, never>;",
            #"    readonly event: "play";"#, #"        readonly "volume"?: number;"#,
            "export type States = RollBackState | RollBackState2 | _4kState;",
            "export type Events = PlayEvent;",
        ] {
            #expect(text.split(separator: "\n").contains(line[...]), "\(line)\n\(text)")
        }
    }
}
