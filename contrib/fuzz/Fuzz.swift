import StateMachineCore
import StateMachineProtocol

/// What the daemon does with a line before acting on it: reads it, and looks up its state.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let line = Array(UnsafeBufferPointer(start: start, count: count))
    do {
        guard let request = try Request.parse(line) else { return 0 }
        let coding = StateCoding<AppState>()
        if case .set(let call) = try coding.schema.described.resolved(request.call) {
            let state = try coding.state(call.name, data: call.data)
            _ = coding.schema.encoded(TypedValue(state))
            if let pattern = call.ifState { _ = coding.schema.matches(pattern, TypedValue(state)) }
        }
    } catch let error as RefusedRequest {
        _ = ServerLine.refusal(id: error.id, error.error)
    } catch let error as WireError {
        _ = ServerLine.refusal(id: nil, error)
    } catch {
        preconditionFailure("not an answer: \(error)")
    }
    return 0
}
