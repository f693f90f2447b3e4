import StateMachineCore
import Testing

/// The names of an enum's cases, read from its type.
@Suite struct EnumCasesTests {
    private enum Plain { case one, two, three }
    private enum Single { case only }
    private enum Empty {}
    private indirect enum Mixed {
        case first
        case second(Int, label: [String])
        case third(Mixed)
    }
    private enum Wide {
        case a(Int)
        case b, `default`, ünicode
    }
    private enum Generic<Value> {
        case none
        case some(Value)
        case many([Value])
    }
    private struct Structure { var field = 1 }
    private final class Object { let field = 1 }

    @Test func allAreThereAndThoseWithValuesComeFirst() {
        #expect(EnumCases.names(of: Plain.self) == ["one", "two", "three"])
        #expect(EnumCases.names(of: Single.self) == ["only"])
        #expect(EnumCases.names(of: Empty.self) == [])
        #expect(EnumCases.names(of: Mixed.self) == ["second", "third", "first"])
        #expect(EnumCases.names(of: Wide.self) == ["a", "b", "default", "ünicode"])
        #expect(EnumCases.names(of: Generic<Int>.self) == ["some", "many", "none"])
        #expect(EnumCases.names(of: Generic<Object>.self) == ["some", "many", "none"])
        #expect(
            EnumCases.names(of: AppState.self) == ["ready", "authentication", "dataRetrieval"]
        )
    }

    @Test func aValueIsTheCaseThatTheNamesSay() {
        func name<Value>(_ value: Value) -> String? {
            EnumCases.tag(of: value).flatMap { EnumCases.names(of: Value.self)?[Int($0)] }
        }
        #expect([Plain.one, .two, .three].map(name) == ["one", "two", "three"])
        #expect(name(Single.only) == "only")
        #expect(name(Mixed.second(1, label: ["a"])) == "second")
        #expect(name(Mixed.third(.third(.first))) == "third")
        #expect(name(Mixed.first) == "first")
        #expect(
            [Wide.a(.min), .b, .default, .ünicode].map(name) == ["a", "b", "default", "ünicode"]
        )
        #expect(name(Generic<Object>.some(Object())) == "some")
        #expect(name(Generic<Object>.many([])) == "many")
        #expect(name(Generic<Bool>.none) == "none")
        #expect(name(AppState.dataRetrieval(.failure)) == "dataRetrieval")
        #expect(name(Structure()) == nil)
        #expect(name(Object()) == nil)
        #expect(name(Optional(Plain.one)) == nil)
    }

    @Test func whatIsNoEnumHasNone() {
        let others: [Any.Type] = [
            Structure.self, Object.self, Int.self, Int?.self, Plain?.self, (Int, Int).self,
            (() -> Void).self, (any Error).self, Any.self, [Plain].self, Plain.Type.self,
        ]
        for type in others {
            #expect(EnumCases.names(of: type) == nil)
            #expect(!EnumCases.isEnum(type))
        }
        #expect(EnumCases.isEnum(Mixed.self))
    }

    private enum Door: EnumState {
        case open
        case locked(by: String)

        static var initial: Door { .open }
        static var examples: [Door] { [.locked(by: ""), .open] }
        var successors: Set<Name> { self.name == "open" ? ["locked"] : ["open"] }
    }

    @Test func aStateWithoutANameOfItsOwnIsCalledAfterItsCase() async throws {
        #expect(Door.locked(by: "me").name == "locked")
        #expect(Door.Name.allCases.map(\.rawValue) == ["locked", "open"])
        let machine = StateMachine<Door>()
        try await machine.assign(.locked(by: "me"))
        await #expect(throws: TransitionError<Door>.self) {
            try await machine.assign(.locked(by: "you"))
        }
        try await machine.assign(.open)
        #expect(machine.state == .open)
    }
}
