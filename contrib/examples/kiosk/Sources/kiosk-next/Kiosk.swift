import StateMachineEmbedding

@main
enum Kiosk: StateMachineProgram {
    case starting
    case closed(why: String)
    case open(customers: Int)

    static var initial: Kiosk { .starting }

    static var upgrade: Upgrade<Kiosk> {
        Upgrade(was: ["closed": ["maintenance"], "closed.why": ["reason"]], lost: .starting)
    }

    // The same state set once more is a change.
    static func makeMachine(
        resuming snapshot: Snapshot<Kiosk>,
        options: StateMachine<Kiosk>.Options
    ) -> StateMachine<Kiosk> {
        var options = options
        options.assigningEqual = .announced
        return StateMachine(resuming: snapshot, options: options)
    }
}
