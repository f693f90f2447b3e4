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
}
