import Dispatch
import StateMachineCore

protocol QuitAsked: AnyObject, Sendable { func mayQuit() -> Vote }

final class Editor: QuitAsked {
    func mayQuit() -> Vote { .no("unsaved work") }
}
final class Player: QuitAsked {
    func mayQuit() -> Vote { .yes }
}

let windows = MulticastDelegate<AnyObject>()
let (editor, player) = (Editor(), Player())
windows.add(editor, on: .queue(DispatchQueue(label: "editor")), label: "editor")
windows.add(player, on: .immediate)
let denials = await windows.ask((any QuitAsked).self) { $0.mayQuit() }
print(denials.isEmpty ? "bye" : denials.map { "\($0.label): \($0.why)" })
