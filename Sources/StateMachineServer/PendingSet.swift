import StateMachineWire

/// A `set` that has not been decided: voters are being asked, or others are before it.
///
/// Its identity is what counts: one that is no longer listed has been answered.
final class PendingSet: Sendable {
    let id: RequestID?
    let call: SetCall

    init(id: RequestID?, call: SetCall) {
        self.id = id
        self.call = call
    }
}
