import ArgumentParser
import StateMachineClient

extension HoldCommand {
    /// The words for what a hold does with a set.
    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case block
        case delay

        var meaning: Request.HoldMode {
            switch self {
            case .block: .block
            case .delay: .delay
            }
        }
    }
}

extension GuardCommand {
    /// The words for what a guard's silence counts as.
    enum Silence: String, CaseIterable, ExpressibleByArgument {
        case allow
        case deny

        var meaning: Request.Silence {
            switch self {
            case .allow: .allow
            case .deny: .deny
            }
        }
    }
}
