import StateMachineCore
import StateMachineProtocol

/// Since when the stay counts in which a run goes on.
struct StayRestoration {
    let start: StayStart
    /// Whether the machine was started anew since the last run, and the stay is one of before that.
    let isFirstInBoot: Bool

    /// - Parameters:
    ///   - newest: what this run goes on with.
    ///   - past: what was found.
    ///   - boot: this start of the machine; nil if that is not known.
    ///   - now: what the clocks show.
    init(
        of newest: RecordedTransition,
        after past: HistoryDatabase.Past,
        in boot: String?,
        at now: StayMoment
    ) {
        let stay = newest.stay ?? newest.seq
        guard let last = past.newest, stay <= last.seq else {
            // It begins with this run.
            self.start = StayStart(stay: stay, moment: now)
            self.isFirstInBoot = false
            return
        }
        if let noted = past.stay, noted.start.stay == stay {
            let isSameBoot = boot != nil && boot == noted.boot
            self.start = isSameBoot ? noted.start.adjusted(to: now) : noted.start.carried(to: now)
        } else {
            // An earlier version has noted nothing, and nothing is noted of a stay that time does not end.
            let begun = StayMoment(uptime: now.uptime, wall: last.at)
            self.start = StayStart(stay: stay, moment: begun).carried(to: now)
        }
        let lastBoot = past.stay?.boot ?? past.boot
        self.isFirstInBoot = boot != nil && lastBoot != nil && boot != lastBoot
    }
}
