import StateMachineEmbedding

@main
enum Kiosk: StateMachineProgram {
    case booting
    case maintenance(reason: String)
    case serving(customers: Int, order: Order? = nil)

    static var initial: Kiosk { .booting }
    static var examples: [Kiosk] {
        [.maintenance(reason: "paper"), .serving(customers: 1, order: .example), .booting]
    }
}
