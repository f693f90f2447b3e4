import StateMachineCore
import Testing

@testable import StateMachineProtocol

/// The names of an enum's cases, read from its type.
@Suite struct TypeMetadataTests {
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
        #expect(TypeMetadata.namesOfCases(of: Plain.self) == ["one", "two", "three"])
        #expect(TypeMetadata.namesOfCases(of: Single.self) == ["only"])
        #expect(TypeMetadata.namesOfCases(of: Empty.self) == [])
        #expect(TypeMetadata.namesOfCases(of: Mixed.self) == ["second", "third", "first"])
        #expect(TypeMetadata.namesOfCases(of: Wide.self) == ["a", "b", "default", "ünicode"])
        #expect(TypeMetadata.namesOfCases(of: Generic<Int>.self) == ["some", "many", "none"])
        #expect(TypeMetadata.namesOfCases(of: Generic<Object>.self) == ["some", "many", "none"])
        #expect(
            TypeMetadata.namesOfCases(of: AppState.self) == [
                "ready", "authentication", "dataRetrieval",
            ]
        )
    }

    @Test func aValueIsTheCaseThatTheNamesSay() {
        func name<Value>(_ value: Value) -> String? {
            nameOfCase(value).map { String(cString: $0) }
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
    }

    @Test func whatIsNoEnumHasNone() {
        let others: [Any.Type] = [
            Structure.self, Object.self, Int.self, Int?.self, Plain?.self, (Int, Int).self,
            (() -> Void).self, (any Error).self, Any.self, [Plain].self, Plain.Type.self,
        ]
        for type in others {
            #expect(TypeMetadata.namesOfCases(of: type) == nil)
            #expect(!isEnum(type))
        }
        #expect(isEnum(Mixed.self))
    }
}
