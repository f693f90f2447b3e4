import Foundation
import StateMachineEmbedding

// A delegate: notified of every change, on the execution context that it was added with.
final class Screen: StateDelegate {
    func stateChanged(_ transition: Transition<Kiosk>) {
        switch transition.new {
        case .booting: self.show("one moment")
        case .maintenance(let reason): self.show("closed: \(reason)")
        case .serving(let customers, _): self.show("\(customers) here")
        }
    }

    private func show(_ text: String) {
        FileHandle.standardOutput.write(Data("\(text)\n".utf8))
    }
}
