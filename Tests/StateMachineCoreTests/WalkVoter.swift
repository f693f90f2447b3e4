@testable import StateMachineCore

/// Somebody who votes on changes to some states, by habit, and stands for a while at the buckets of some of them.
///
/// Guarded state: all of it, behind `guarded`.
final class WalkVoter: Sendable {
    enum Habit: Sendable {
        case denies
        case agrees
        /// It says anything, or lets go of the question.
        case varies
    }

    /// For how long it has covered a state.
    struct Cover: Sendable {
        let state: Light
        let from: UInt64
        var to = UInt64.max
    }

    /// A motion that it was asked about.
    struct Asked: Hashable, Sendable {
        let number: Int
        let seq: UInt64
        let state: Light
    }

    struct Guarded: Sendable {
        var registration: Registration?
        /// Whether a thread is moving or cancelling it, or has cancelled it.
        var isTaken = false
        /// The states at whose buckets it stands.
        var place: Set<Light>
        /// Those at whose buckets it has ever stood.
        var places: Set<Light>
        var covers: [Cover] = []
        var asked: Set<Asked> = []
    }

    let name: String
    let habit: Habit
    /// What it wants to be asked about, where it stands.
    let wanted: Set<Light>
    let guarded: Lock<Guarded>

    init(_ name: String, _ habit: Habit, wanting wanted: Set<Light>, at place: Set<Light>) {
        (self.name, self.habit, self.wanted) = (name, habit, wanted)
        self.guarded = Lock(Guarded(place: place, places: place))
    }

    /// It is registered, and so covers what it wants where it stands.
    func began(_ registration: Registration, at moment: UInt64) {
        self.guarded.withLock { guarded in
            guarded.registration = registration
            guarded.cover(self.wanted.intersection(guarded.place), at: moment)
        }
    }

    /// Takes it, for whoever moves it next.
    ///
    /// - Parameters:
    ///   - place: where it is about to stand; nil: nowhere.
    ///   - moment: the present one.
    /// - Returns: what moves it; nil if another thread has it.
    func leave(for place: Set<Light>?, at moment: UInt64) -> Registration? {
        self.guarded.withLock { guarded in
            guard let registration = guarded.registration, !guarded.isTaken else { return nil }
            guarded.isTaken = true
            for index in guarded.covers.indices
            where guarded.covers[index].to == .max
                && place?.contains(guarded.covers[index].state) != true
            { guarded.covers[index].to = moment }
            guarded.places.formUnion(place ?? [])
            return registration
        }
    }

    /// It stands there now.
    func arrived(at place: Set<Light>, at moment: UInt64) {
        self.guarded.withLock { guarded in
            guarded.isTaken = false
            guarded.place = place
            guarded.cover(self.wanted.intersection(place), at: moment)
        }
    }
}

extension WalkVoter.Guarded {
    fileprivate mutating func cover(_ states: Set<Light>, at moment: UInt64) {
        let covered = self.covers.filter { $0.to == .max }.map(\.state)
        for state in states.subtracting(covered) {
            self.covers.append(WalkVoter.Cover(state: state, from: moment))
        }
    }
}
