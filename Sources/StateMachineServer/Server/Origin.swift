import StateMachineCore

/// Who brought a machine where it is, and why, as far as that is known.
struct Origin {
    private(set) var by: Peer?
    private(set) var cause: String?
    private var setter: CompactPeer?

    init(by: Peer? = nil, cause: String? = nil) {
        self.by = by
        self.cause = cause
        self.setter = by.map { CompactPeer($0) }
    }

    /// Notes the newest change; one setter's many changes are one look-up.
    mutating func note(_ setter: CompactPeer?, cause: String?) {
        if setter != self.setter {
            self.setter = setter
            self.by = setter?.peer
        }
        if cause != nil || self.cause != nil { self.cause = cause }
    }
}
