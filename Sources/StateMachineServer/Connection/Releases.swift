import StateMachineCore
import StateMachineProtocol

/// Releases holds and guards: those of the client's user, and for root everybody's.
///
/// Belongs to the event loop.
struct Releases {
    let server: StateServer
    let peer: Peer
    let outbox: Outbox
    let late: LateReplies
    /// The connection's own, which it may release whoever its user is.
    let own: HoldsAndGuards

    func release(_ call: ReleaseCall, id: RequestID?) throws(WireError) {
        if let number = call.number { try self.release(number, id: id) }
        if let name = call.required {
            guard let kept = self.server.kept[required: name] else {
                throw WireError(.notFound, "no guard is required as \(name)")
            }
            try self.release(kept, "the guard that is required as \(name)", id: id)
        }
        if let name = call.name {
            self.server.kept.endOverdue()
            guard let kept = self.server.kept[named: name] else {
                throw WireError(.notFound, "no hold is called \(name)")
            }
            try self.release(kept, "the hold \(name)", id: id)
        }
    }

    private func release(_ number: UInt64, id: RequestID?) throws(WireError) {
        if let kept = self.server.kept[number] {
            let what =
                switch kept.term {
                case .connection: "hold or guard \(number)"
                case .required(let name): "the guard that is required as \(name)"
                case .named(let name, _): "the hold \(name)"
                }
            return try self.release(kept, what, id: id)
        }
        guard let owner = self.server.voters[number] else {
            throw WireError(.notFound, "there is no hold or guard \(number)")
        }
        guard owner === self.own || self.peer.owns(owner.peer) else {
            let name = owner.hold(number) == nil ? "guard" : "hold"
            throw WireError(.forbidden, "\(name) \(number) is of another user")
        }
        owner.end(number)
        self.outbox.reply(ServerLine.reply(id: id))
    }

    /// Ends one that outlives its connections, and the guards of its name with it.
    private func release(
        _ kept: KeptVoter,
        _ what: String,
        id: RequestID?
    ) throws(WireError) {
        guard self.peer.owns(kept.peer) else {
            throw WireError(
                .forbidden,
                "\(what) is of user \(kept.peer.uid); only that user and root may release it"
            )
        }
        let place = self.late.begin(ServerLine.reply(id: id))
        let numbers = self.server.kept.release(kept) { failure in
            self.late.end(place, failure) {
                ServerLine.refusal(
                    id: id,
                    WireError(
                        .internal,
                        "\(what) is released until the daemon starts again, which could not be recorded: \($0)"
                    )
                )
            }
        }
        for number in numbers { self.server.voters[number]?.end(number) }
        self.server.machine.voterWent()
    }
}
