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

    func release(_ call: ReleaseCall, id: RequestID?) throws(WireError) {
        switch call {
        case .number(let number): try self.release(number, id: id)
        case .required(let name): try self.release(required: name, id: id)
        }
    }

    private func release(_ number: UInt64, id: RequestID?) throws(WireError) {
        if let name = self.server.requirements.name(of: number) {
            return try self.release(required: name, id: id)
        }
        guard let owner = self.server.voters[number] else {
            throw WireError(.notFound, "there is no hold or guard \(number)")
        }
        guard self.peer.uid == 0 || self.peer.uid == owner.peer.uid else {
            let name = owner.hold(number) == nil ? "guard" : "hold"
            throw WireError(.forbidden, "\(name) \(number) is of another user")
        }
        owner.end(number)
        self.outbox.reply(ServerLine.reply(id: id))
    }

    /// Ends the requirement, and the guards of that name with it.
    private func release(required name: String, id: RequestID?) throws(WireError) {
        let requirements = self.server.requirements
        guard let requirement = requirements[name] else {
            throw WireError(.notFound, "no guard is required as \(name)")
        }
        guard self.peer.uid == 0 || self.peer.uid == requirement.peer.uid else {
            throw WireError(
                .forbidden,
                "the guard that is required as \(name) is of user \(requirement.peer.uid); only that user and root "
                    + "may release it"
            )
        }
        let place = self.late.begin(ServerLine.reply(id: id))
        let numbers = requirements.release(name) { failure in
            self.late.end(place, failure) {
                ServerLine.refusal(
                    id: id,
                    WireError(
                        .internal,
                        "\(name) is released until the daemon starts again, which could not be written: \($0)"
                    )
                )
            }
        }
        for number in numbers { self.server.voters[number]?.end(number) }
        self.server.machine.voterWent()
    }
}
