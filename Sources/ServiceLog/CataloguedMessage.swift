/// The log messages that `systemd/statemachine.catalog` explains, and their IDs there.
package enum CataloguedMessage: String, CaseIterable {
    case transition
    case transitions
    case ready
    case reloaded
    case handedOver = "connections handed over"
    case takenUp = "connections taken up"

    /// An ID that no other message of any program has: sd-id128(3).
    package var id: String {
        switch self {
        case .transition: "8b46a7af6b018467db5bf4e2804a6369"
        case .transitions: "3afbe874cf2142678e765c9d20f4cb1f"
        case .ready: "5863f022130f10cf9af0cd6b74ed5822"
        case .reloaded: "82e4c3499b11b377f38e0448738eb9be"
        case .handedOver: "2203fbdee0e6af091d7c68997a710c5b"
        case .takenUp: "ec0760a7945aeb00fe6c72cdc293f5ae"
        }
    }
}
