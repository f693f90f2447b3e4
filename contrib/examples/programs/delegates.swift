import Dispatch
import StateMachineCore

final class Journal: StateDelegate {
    func stateChanged(_ transition: Transition<AppState>) { print("journal:", transition.new) }
}

@MainActor final class Screen {
    func show(_ state: AppState) { print("screen:", state) }
}

let machine = StateMachine<AppState>()
let journal = Journal()
let screen = Screen()
let renderer = NotificationThread(name: "renderer")

machine.addDelegate(journal, on: .queue(DispatchQueue(label: "journal")))
machine.addObserver(on: renderer) { print("renderer:", $0.new) }
machine.addDelegate(screen, on: .main) { $0.show($1.new) }

machine.state = .authentication(.active)
machine.state = .ready(true)
await machine.flush()
renderer.stop()
