import StateMachineClient
import StateMachineCore
package import StateMachineProtocol
import Synchronization

/// The machines that are shown.
///
/// Guarded state: the machines, and how many were found that are not shown, behind a lock.
package final class Machines: Sendable {
    /// Which machines are shown.
    package enum Choice: Sendable {
        /// Those in these directories, also while nothing is there.
        case directories([RuntimeDirectory])
        /// All of the system and of this user, whenever they come, until they have ended.
        case all
    }

    private struct Guarded {
        var known: [Machine] = []
        var hidden = 0
    }

    /// The most machines that are shown.
    ///
    /// 64: each costs a connection and up to 4 MiB, and more do not fit on a page.
    package static let most = 64
    /// How often to look for new ones, and for those that have ended.
    ///
    /// 2 s: one that has just been started is soon there, and a look costs two reads of a directory.
    private static let pause = Duration.seconds(2)

    private let choice: Choice
    private let guarded = Mutex(Guarded())
    /// Machines that are known and not followed yet.
    private let (found, find) = AsyncStream.makeStream(of: Machine.self)

    /// Finds the machines that exist; nothing is connected yet.
    package init(_ choice: Choice) {
        self.choice = choice
        _ = self.look()
    }

    /// Rings when any machine has new events, or one has been found, or is no longer shown.
    let bell = Bell()

    /// All machines, in the order in which they were found.
    var all: [Machine] { self.guarded.withLock { $0.known } }

    /// How many more there are than are shown.
    package var hidden: Int { self.guarded.withLock { $0.hidden } }

    /// The one of that name.
    subscript(name: String) -> Machine? { self.all.first { $0.name == name } }

    /// Follows them until the task is cancelled.
    ///
    /// - Parameter crowded: called with how many are not shown, whenever that number has grown.
    package func run(_ crowded: @escaping @Sendable (Int) -> Void = { _ in }) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var last = 0
                repeat {
                    let hidden = self.look()
                    if hidden > last { crowded(hidden) }
                    last = hidden
                } while await QuietClock().hasSlept(Self.pause)
            }
            group.addTask {
                while await QuietClock().hasSlept(Machine.beat) { self.bell.beat() }
            }
            for await machine in self.found {
                group.addTask { await machine.run { self.bell.ring() } }
            }
        }
    }

    /// Ends the feeds of all machines.
    func finish() {
        for machine in self.all { machine.feed.bell.finish() }
        self.bell.finish()
    }

    /// Adds the machines that were not known before, and leaves out those that have ended; returns how many there is no
    /// room for.
    private func look() -> Int {
        let (candidates, isFixed): ([(name: String, directory: RuntimeDirectory)], Bool) =
            switch self.choice {
            case .directories(let directories):
                (
                    directories.map {
                        ($0.path.split(separator: "/").last.map(String.init) ?? "/", $0)
                    }, true
                )
            case .all: (Instance.all().map { ($0.name ?? "statemachine", $0.directory) }, false)
            }
        let directories = Set(candidates.map(\.directory))
        let (hidden, leaving) = self.guarded.withLock { guarded in
            let new = candidates.filter { candidate in
                !guarded.known.contains { $0.client.directory == candidate.directory }
            }
            var leaving: [Machine] = []
            if !isFixed {
                let absences = guarded.known.map { machine in
                    directories.contains(machine.client.directory) ? nil : machine.feed.absence
                }
                let room = Self.most - guarded.known.count
                let numbers = Absence.ended(absences, making: new.count - room, at: .now)
                leaving = numbers.map { guarded.known[$0] }
                guarded.known.removeAll { one in leaving.contains { $0 === one } }
            }
            let admitted = new.prefix(Self.most - guarded.known.count)
            for (name, directory) in admitted {
                let own = Self.name(name) { name in guarded.known.contains { $0.name == name } }
                let machine = Machine(name: own, directory: directory)
                guarded.known.append(machine)
                self.find.yield(machine)
            }
            guarded.hidden = new.count - admitted.count
            return (guarded.hidden, leaving)
        }
        for machine in leaving { machine.end() }
        if !leaving.isEmpty { self.bell.ring() }
        return hidden
    }

    /// The name, with a number if it is taken, as the system's and the user's may be the same.
    private static func name(_ name: String, isTaken: (String) -> Bool) -> String {
        guard isTaken(name) else { return name }
        var number = 2
        while isTaken("\(name)-\(number)") { number += 1 }
        return "\(name)-\(number)"
    }
}

/// A daemon that cannot be reached: since when, and whether it said that it ends.
struct Absence: Equatable {
    /// How long a machine whose sockets are gone is shown.
    ///
    /// One whose daemon said that it ends a minute, in which a restart is long over; any other an hour, as it is missed, and
    /// whoever is to be alarmed has been by then.
    private static let shown = (afterFarewell: Duration.seconds(60), else: Duration.seconds(3600))

    let since: ContinuousClock.Instant
    let hasFarewell: Bool

    /// Which machines are no longer shown: those that have been away for long enough, and as many more as room is needed for, first
    /// those that have been away for longest.
    ///
    /// - Parameters:
    ///   - absences: of each machine; nil for one that is there, or whose sockets are.
    ///   - room: how many have to go, if there are so many that are away.
    ///   - now: the time.
    /// - Returns: their positions in the list.
    static func ended(
        _ absences: [Absence?],
        making room: Int,
        at now: ContinuousClock.Instant
    ) -> [Int] {
        let away = absences.enumerated().compactMap { position, absence in
            absence.map { (position: position, absence: $0) }
        }.sorted { $0.absence.since < $1.absence.since }
        return away.enumerated().filter { number, one in
            let limit = one.absence.hasFarewell ? Self.shown.afterFarewell : Self.shown.else
            return number < room || now - one.absence.since >= limit
        }.map(\.element.position)
    }
}
