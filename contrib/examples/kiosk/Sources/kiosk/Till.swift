import StateMachineEmbedding

// A voter: asked before a change happens, whoever asks for it.
enum Till {
    static func vote(on proposal: Proposal<Kiosk>) -> Vote {
        if case .serving(let customers, _) = proposal.current.state, customers > 0 {
            .no("\(customers) customers are here")
        } else {
            .yes
        }
    }
}
