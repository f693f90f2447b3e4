import StateMachineCore
package import StateMachineProtocol

// What a state knows of its times besides what the file says: what a field had on entry, which change entered a group, and
// which of them have come.
extension DeclaredState {
    /// The times that it waits for, its own before those of its groups.
    package var due: [Due] {
        self.declared.after.compactMap { time in
            let known = self.times.first { $0.key == time.key }
            guard known?.hasPassed != true else { return nil }
            let moment: Due.Moment? =
                switch time.moment {
                case .after(let delay): .after(delay)
                // One that is absent gives no time.
                case .field:
                    known?.value.flatMap { value in
                        value.instant.map { .at($0) }
                            ?? value.integer.map { .after(.milliseconds($0)) }
                    }
                }
            return moment.map {
                Due(time.key, $0, group: known?.group, isOpen: time.isOpen)
            }
        }
    }

    /// The same as it is entered by that change; from another one, unless the machine begins or was booted.
    func entered(at seq: UInt64, from left: DeclaredState?) -> DeclaredState {
        guard self.declared.hasKnownTimes else { return self }
        return self.knowing { time in
            guard time.group != nil, let left, left.waits(for: time) else {
                return self.known(of: time, group: time.group.map { _ in seq })
            }
            // Its group goes on.
            return left.times.first { $0.key == time.key }
        }
    }

    /// The same, with its own times beginning anew; those of its groups go on, also of groups as another file has them.
    var renewed: DeclaredState {
        let own = self.declared.after.filter { $0.group == nil }
            .compactMap { self.known(of: $0, group: nil) }
        return self.with(own + self.times.filter { $0.group != nil })
    }

    /// The same, once that time has come.
    func passing(_ key: String) -> DeclaredState {
        let known = self.times.first { $0.key == key }
        return self.with(
            self.times.filter { $0.key != key }
                + [(known ?? KnownTime(key, group: nil, value: nil)).passed]
        )
    }

    /// The same, going on in a stay of which that was known, perhaps by another file: what it does not know of is found
    /// out now.
    package func knowing(_ times: [KnownTime], in stay: UInt64) -> DeclaredState {
        guard !self.declared.after.isEmpty || !times.isEmpty else { return self }
        let all = self.declared.after.compactMap { time -> KnownTime? in
            if let known = times.first(where: { $0.key == time.key }) { return known }
            guard let group = time.group else { return self.known(of: time, group: nil) }
            let sibling = times.first { $0.key.hasPrefix(group + "/") }
            return self.known(of: time, group: sibling?.group ?? stay)
        }
        // What this file does not have, another one may have again in the same stay.
        let others = times.filter { known in !all.contains { $0.key == known.key } }
        return self.with(all + others)
    }

    private func knowing(
        _ known: (StateDeclaration.Deadline) -> KnownTime?
    ) -> DeclaredState {
        self.declared.after.isEmpty ? self : self.with(self.declared.after.compactMap(known))
    }

    private func with(_ times: [KnownTime]) -> DeclaredState {
        guard times != self.times else { return self }
        return DeclaredState(
            self.declaration,
            self.number,
            self.values,
            carrying: self.carried,
            times: times
        )
    }

    private func waits(for time: StateDeclaration.Deadline) -> Bool {
        self.declared.after.contains { $0.key == time.key }
    }

    /// What is found out of a time now; nil if there is nothing to know.
    ///
    /// That a field is absent is known, too: it may be given later.
    private func known(of time: StateDeclaration.Deadline, group: UInt64?) -> KnownTime? {
        switch time.moment {
        case .after: group.map { KnownTime(time.key, group: $0, value: nil) }
        case .field(let name): KnownTime(time.key, group: group, value: self[name])
        }
    }
}

extension DeclaredState {
    /// What something comes to, with what the state that follows knows of its times.
    func settled(_ made: Move.Made, after stimulus: Stimulus, at place: Place) -> Move.Made {
        var (left, isBoot) = (self, false)
        switch stimulus {
        case .time(let key): left = self.passing(key)
        case .boot: isBoot = true
        case .event, .update, .runEnded, .seen: break
        }
        switch made {
        case .enter(let next):
            let next = next.declared
            guard next.declared.hasKnownTimes else { return made }
            return .enter(TypedValue(next.entered(at: place.seq + 1, from: isBoot ? nil : left)))
        case .keep(let next):
            guard !left.times.isEmpty else { return made }
            let kept = next.declared.with(left.times)
            guard case .time = stimulus, kept == self else { return .keep(TypedValue(kept)) }
            return .pass(TypedValue(kept))
        case .renew:
            let renewed = self.renewed
            return .renew(
                renewed.times == self.times ? place.value : TypedValue(renewed),
                groups: self.times.compactMap(\.group)
            )
        case .nothing(.same):
            if case .time = stimulus { return .pass(TypedValue(left)) }
            return made
        case .nothing, .pass: return made
        }
    }

    /// What is left of its own next time at a place; nil: none is due.
    func remaining(at place: Place, _ starts: StayStarts) -> Duration? {
        let own = self.due.filter { $0.group == nil }
        guard !own.isEmpty else { return nil }
        let stay =
            starts.renewed(place.stay, as: place.renewals) ?? starts.newest(of: place.stay)
            ?? starts.foreseenStart(
                of: place.stay,
                at: place.seq,
                place.at,
                groups: self.times.compactMap(\.group)
            )
        let now = starts.clock.moment
        return own.map { .microseconds(max(0, $0.left(in: stay, at: now))) }.min()
    }
}
