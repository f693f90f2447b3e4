import StateMachineCore

func freeMegabytes() async throws -> Int {
    try await Task.sleep(for: .milliseconds(10))
    return 12
}

let machine = StateMachine<AppState>()
machine.addVoter(
    label: "disk",
    within: .seconds(2),
    whenSilent: .no("no answer"),
    before: { $0.proposed.name == .dataRetrieval }
) { _ in
    guard let free = try? await freeMegabytes() else { return .no("the disk does not say") }
    return free < 100 ? .no("only \(free) MB left") : .yes
}
do {
    try await machine.propose(.dataRetrieval(.active))
} catch {
    print(error)
}
