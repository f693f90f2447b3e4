import StateMachineCore
import StateMachineProtocol

/// The start of the stay in which a run goes on.
struct StayRestoration {
    let start: StayStart
    /// Whether the machine was booted since the last run, and the stay is from before that.
    let isFirstInBoot: Bool

    /// - Parameters:
    ///   - newest: the transition that this run goes on from.
    ///   - past: what was found.
    ///   - boot: the present boot; nil if not known.
    ///   - now: what the clocks show.
    init(
        of newest: RecordedTransition,
        after past: HistoryDatabase.Past,
        in boot: String?,
        at now: StayMoment
    ) {
        let stay = newest.stay ?? newest.seq
        guard let last = past.newest, stay <= last.seq else {
            // The stay begins with this run.
            self.start = StayStart(stay: stay, moment: now)
            self.isFirstInBoot = false
            return
        }
        // A boot in which less time has passed than had then is another one of that name: a snapshot
        // of a computer, or another time namespace.
        let isOlder = past.stay.map { $0.start.moment.uptime > now.uptime } ?? false
        if let noted = past.stay, noted.start.stay == stay {
            let isSameBoot = boot != nil && boot == noted.boot && !isOlder
            self.start = isSameBoot ? noted.start.adjusted(to: now) : noted.start.carried(to: now)
        } else {
            // An earlier version recorded nothing, and nothing is recorded for a stay without a
            // deadline.
            let begun = StayMoment(uptime: now.uptime, wall: past.begun ?? last.at)
            self.start = StayStart(stay: stay, moment: begun).carried(to: now)
        }
        let lastBoot = past.stay?.boot ?? past.boot
        self.isFirstInBoot =
            boot != nil && lastBoot != nil
            && (boot != lastBoot || isOlder && boot == past.stay?.boot)
    }
}
