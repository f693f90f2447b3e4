import Dispatch
import StateMachineEmbedding

extension Kiosk {
    // Nobody goes back to booting.
    var successors: Set<Name> { ["maintenance", "serving"] }

    // Called once, before anybody can connect.
    static func prepare(_ machine: StateMachine<Kiosk>) {
        machine.addDelegate(Screen(), on: .queue(.main), retaining: true, starting: .current)
        machine.addVoter(
            label: "till",
            on: .queue(DispatchQueue(label: "till")),
            before: { $0.proposed.name == "maintenance" },
            Till.vote(on:)
        )
    }
}
