import StateMachineCore
import StateMachineProtocol
import Testing

@Suite("A state that was set lately") struct RecentStatesTests {
    @Test("is found by a request that names it and writes its data the same", arguments: Self.same)
    func isFoundByTheSame(_ kept: String, _ asked: String) throws {
        let state = Value()
        var recent = RecentStates()
        try recent.keep(state, Self.set(kept))
        #expect(try recent.state(Self.set(asked)) === state)
    }

    private static let same = [
        (#"{"op":"set","state":"a"}"#, #"{"op":"set","state":"a","id":1,"reenter":true}"#),
        (#"{"op":"set","state":"a","data":null}"#, #"{"op":"set","state":"a"}"#),
        (#"{"op":"set","state":"a","data":{}}"#, #"{"data":{},"state":"a","op":"set"}"#),
        (
            #"{"op":"set","state":"a","data":{"b":[1]}}"#,
            #"{"op":"set","data":{"b":[1]},"state":"\u0061"}"#
        ),
        (
            #"{"op":"set","state":"a","data":{"b":"\n"}}"#,
            #"{"op":"set","state":"a","data":{"b":"\n"}}"#
        ),
    ]

    @Test("is not found by another request", arguments: Self.others)
    func isNotFoundByAnother(_ kept: String, _ asked: String) throws {
        var recent = RecentStates()
        try recent.keep(Value(), Self.set(kept))
        #expect(try recent.state(Self.set(asked)) == nil)
    }

    private static let others = [
        (#"{"op":"set","state":"a"}"#, #"{"op":"set","state":"b"}"#),
        // These have the same checksum.
        (
            #"{"op":"set","state":"0123456789abcdef"}"#,
            #"{"op":"set","state":"0123456789abcdeF"}"#
        ),
        (#"{"op":"set","state":"a"}"#, #"{"op":"set","state":"a","data":{}}"#),
        (#"{"op":"set","state":"a","data":{}}"#, #"{"op":"set","state":"a"}"#),
        (#"{"op":"set","state":"a","data":{"b":1}}"#, #"{"op":"set","state":"a","data":{"b":2}}"#),
        (#"{"op":"set","state":"a","data":{}}"#, #"{"op":"set","state":"a","data":"{}"}"#),
        (#"{"op":"set","state":"a","data":"{}"}"#, #"{"op":"set","state":"a","data":"{}"}"#),
        (#"{"op":"set","state":"a","data":[]}"#, #"{"op":"set","state":"a","data":[]}"#),
    ]

    @Test("is found only if its request was short", arguments: [1023, 1024, 1025])
    func isFoundOnlyIfItsRequestWasShort(_ length: Int) throws {
        let data = #"{"":"\#(String(repeating: "x", count: length - 8))"}"#
        let call = try Self.set(#"{"op":"set","state":"a","data":\#(data)}"#)
        var recent = RecentStates()
        recent.keep(Value(), call)
        #expect((recent.state(call) != nil) == (length <= 1024))
    }

    @Test("is found until another takes its place, and no others") func isFoundUntilReplaced()
        throws
    {
        let states = (0..<1000).map { _ in Value() }
        let calls = try states.indices.map {
            try Self.set(#"{"op":"set","state":"a","data":{"b":\#($0)}}"#)
        }
        var recent = RecentStates()
        for (state, call) in zip(states, calls) {
            recent.keep(state, call)
            #expect(recent.state(call) === state)
        }
        let found = zip(states, calls).filter { state, call in
            let found = recent.state(call)
            #expect(found == nil || found === state)
            return found != nil
        }
        #expect((1...64).contains(found.count))
    }

    private static func set(_ line: String) throws -> SetCall {
        guard case .set(let call)? = try Request.parse(Array(line.utf8))?.call else {
            throw Unexpected(line: line)
        }
        return call
    }

    private struct Unexpected: Error { let line: String }
}

extension RecentStates {
    fileprivate func state(_ call: SetCall) -> Value? { self.state(call.state, call.data) }

    fileprivate mutating func keep(_ state: Value, _ call: SetCall) {
        self.keep(state, as: call.state, call.data)
    }
}
