import StateMachineEmbedding

@main
enum Kiosk: StateMachineProgram {
    case starting
    case closed(why: String)
    case open(customers: Int)

    static var initial: Kiosk { .starting }
    static var examples: [Kiosk] { [.closed(why: "paper"), .open(customers: 1), .starting] }

    static var was: [String: [String]] { ["closed": ["maintenance"], "closed.why": ["reason"]] }
    static var lost: Kiosk? { .starting }

    // The same state set once more is a change.
    static func makeMachine(
        resuming snapshot: Snapshot<Kiosk>,
        options: StateMachine<Kiosk>.Options
    ) -> StateMachine<Kiosk> {
        var options = options
        options.announcesEqual = true
        return StateMachine(resuming: snapshot, options: options)
    }
}
