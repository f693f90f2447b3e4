import StateMachineCore

let machine = StateMachine<AppState>()
let watching = Task {
    for await state in machine.states {
        print("it is", state)
        if state == .ready(true) { break }
    }
    return Task.isCancelled ? "cancelled" : "seen"
}
machine.state = .authentication(.active)
_ = try await machine.wait(until: { $0 == .authentication(.success) }, within: .milliseconds(100))
watching.cancel()
print(await watching.value)
