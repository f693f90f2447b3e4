import StateMachineCore
import StateMachineProtocol

/// Tells the client of a set, an event or an update why it changes nothing.
///
/// Belongs to the event loop.
struct SetRefusals {
    let server: StateServer
    let outbox: Outbox

    /// Answers a request that changes nothing.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - entered: the state that was to be entered; nil if it was none.
    ///   - refusal: why not.
    ///   - current: where the machine was.
    func answer(
        _ request: ChangeRequest,
        of entered: Value?,
        _ refusal: Refusal,
        _ current: EncodedSnapshot
    ) {
        let (id, name) = (request.id, current.state.name)
        // Without one it is what was to be left.
        let state = entered ?? request.state ?? current.state
        switch refusal {
        case .conflict:
            let expected = request.expected(at: current)
            let message =
                "expected \(expected), but it is \(current.state.shortText) at seq \(current.seq)"
            self.answer(id, .conflict, message, current)
        case .illegal:
            let allowed = self.server.machine.schema.names.filter(
                current.state.successors.contains
            )
            let others =
                allowed.isEmpty
                ? "nothing may be set from there" : "allowed: \(allowed.joined(separator: ", "))"
            let message = "\(state.name) may not follow \(name); \(others)"
            self.answer(id, .illegalTransition, message, current) { writer in
                writer.json("allowed", .array(allowed.map { .string($0) }))
            }
        case .denied(let deciding):
            let blocking = self.server.voters.all + Array(self.server.kept.voters)
            let denials = Denials(deciding, and: blocking, of: state)
            self.answer(id, .denied, denials.message, current) { writer in
                denials.write(to: &writer, ownPeer: self.server.ownPeer)
            }
        case .stale:
            let message = "the program set the state while voters were asked"
            self.answer(id, .conflict, message, current)
        case .notCommitted(let why):
            self.answer(id, .internal, "could not be recorded: \(why)", current)
        case .overloaded:
            self.answer(id, .limit, "too many sets wait their turn", current)
        case .wouldWait:
            self.answer(id, .internal, "could not be decided at once", current)
        case .withdrawn:
            self.answer(id, .internal, "was withdrawn", current)
        }
    }

    private func answer(
        _ id: RequestID?,
        _ code: ErrorCode,
        _ message: String,
        _ current: EncodedSnapshot,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.answer(id, WireError(code, message), current, own: own)
    }

    /// Answers with that error and where the machine was, after every change up to there.
    func answer(
        _ id: RequestID?,
        _ error: WireError,
        _ current: EncodedSnapshot,
        own: (inout LineWriter) -> Void = { _ in }
    ) {
        self.server.counters.refusals.add()
        self.outbox.reply(
            ServerLine.refusal(
                id: id,
                error,
                report: self.server.report(of: current),
                own: own
            ),
            after: current.seq
        )
    }
}
