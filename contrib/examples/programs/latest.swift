import Dispatch
import StateMachineCore

let machine = StateMachine<AppState>()
let lights = Receptionist(
    of: machine,
    selecting: { $0.new },
    on: .queue(DispatchQueue(label: "lights")),
    delivering: .paced(every: .milliseconds(50), per: { $0.name }),
    keeping: 1000
) { for state in $0.values where state.name != .ready { print(state) } }

for number in 0..<10_000 {
    machine.state = number == 5000 ? .authentication(.failure) : .ready(number % 2 == 0)
}
_ = try await machine.wait(until: { _ in false }, within: .milliseconds(200))
lights.close()
