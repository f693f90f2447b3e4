import StateMachineCore
import StateMachineProtocol

/// How a machine is told that the command of a stay has ended.
extension ServedMachine {
    /// What an end of a run asks for: a move of the machine's own, of which somebody else knows.
    ///
    /// So it is no request of a client's: it lifts nothing, and what it makes counts with the machine's other moves and
    /// may be withheld like them. Whoever knows of it then comes again; that it comes twice does nothing, since the
    /// stay is over.
    func request(forEndOfRun call: SendCall, id: RequestID?) throws(WireError) -> ChangeRequest {
        let name = StateSchema.endOfRun.name
        guard let stay = call.ifStay else {
            throw WireError(
                .badRequest,
                "\(name) needs \"ifStay\": the stay whose run has ended"
            )
        }
        guard call.cause == nil else {
            throw WireError(
                .badRequest,
                "\(name) takes no \"cause\": what it leads to says itself why"
            )
        }
        let move = try self.stays?.move(onEndOfRun: call.data?.members ?? [], in: stay)
        if move != nil, let suspension = self.stays?.moves.suspension() {
            throw WireError(
                .suspended,
                "the machine has made \(suspension.moves) moves of its own within \(suspension.time), and makes none until somebody asks for something; "
                    + "send it again later"
            )
        }
        return ChangeRequest(.event(.send(call)), cause: move?.cause, id: id, by: nil)
    }
}

extension SendCall {
    /// Whether it tells that the command of a stay has ended.
    var isEndOfRun: Bool { self.event.isSpelled(StateSchema.endOfRun.name) }
}

extension Schema {
    /// What an end of a run comes to; `cause` is what its change would say of why if nothing has come in between.
    func made(
        ofEndOfRun end: [JSONMember],
        expecting cause: String?,
        from place: Place
    ) throws(WireError) -> PendingSet.Found {
        guard let move = try self.move(onEndOfRun: end, in: place.value) else {
            return .unhandled
        }
        // Another file has come into force meanwhile, in the same stay.
        guard move.cause == cause else {
            throw WireError(
                .suspended,
                "what declares the machine has just changed; send it again"
            )
        }
        return .state(try self.checked(move.next))
    }
}
