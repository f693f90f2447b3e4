import StateMachineEmbedding

// A voter: asked before a change happens, whoever asks for it.
enum Till {
    static func vote(_ ask: Ask<Kiosk>) {
        if case .serving(let customers, _) = ask.proposal.current.state, customers > 0 {
            ask.vote(.no("\(customers) customers are here"))
        } else {
            ask.vote(.yes)
        }
    }
}
