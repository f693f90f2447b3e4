#if Cluster
/// What is not as it should be in the engine, and was told: each is told once, until it is over.
///
/// A value that decides and does nothing.
struct Oddities: Sendable {
    private var damage: SharedReading.Damage?
    private var lacksSettings = false
    private var lostChanges: String?

    /// A read has shown all that it was to show.
    mutating func note(_ reading: SharedReading, into actions: inout [SharedMachine.Action]) {
        self.note(damage: nil, into: &actions)
        // Whoever begins the machine puts both.
        let lacksSettings = reading.head != nil && reading.settings == nil
        if lacksSettings, !self.lacksSettings { actions.append(.note(.lacksSettings)) }
        self.lacksSettings = lacksSettings
    }

    /// A read has shown nothing, and why.
    mutating func note(
        _ unreadable: SharedReading.Unreadable,
        into actions: inout [SharedMachine.Action]
    ) {
        switch unreadable {
        case .later: self.note(damage: nil, into: &actions)
        case .damaged(let damage): self.note(damage: damage, into: &actions)
        }
    }

    private mutating func note(
        damage: SharedReading.Damage?,
        into actions: inout [SharedMachine.Action]
    ) {
        guard damage != self.damage else { return }
        self.damage = damage
        actions.append(.note(.damaged(damage)))
    }

    /// The engine has lost changes that this host has seen.
    mutating func note(lostChanges why: String, into actions: inout [SharedMachine.Action]) {
        guard self.lostChanges == nil else { return }
        self.lostChanges = why
        actions.append(.note(.lostChanges(why)))
    }

    /// A new epoch has begun.
    mutating func beganAgain() { self.lostChanges = nil }
}
#endif
