import Dispatch
import StateMachineCore

let machine = StateMachine<AppState>()
let lights = machine.addObserver(
    on: .queue(DispatchQueue(label: "lights")),
    delivering: .paced(every: .milliseconds(50), per: { $0.new.name }).limited(to: 1000)
) { if $0.new.name != .ready { print($0.new) } }

for number in 0..<10_000 {
    machine.state = number == 5000 ? .authentication(.failure) : .ready(number % 2 == 0)
}
await lights.flushAndWait()
