import StateMachineClient
import StateMachineCore
package import StateMachineProtocol
import Synchronization

/// The machines that are shown.
///
/// Guarded state: the machines, behind a lock; they are only added to.
package final class Machines: Sendable {
    /// Which machines are shown.
    package enum Choice: Sendable {
        /// Those in these directories.
        case directories([RuntimeDirectory])
        /// All of the system and of this user, whenever they come.
        case all
    }

    /// The most machines that are shown.
    ///
    /// 64: each costs a connection and up to 4 MiB, and more do not fit on a page.
    package static let most = 64
    /// How often to look for new ones.
    ///
    /// 2 s: one that has just been started is soon there, and a look costs two reads of a directory.
    private static let pause = Duration.seconds(2)

    private let choice: Choice
    private let known = Mutex<[Machine]>([])
    /// Machines that are known and not followed yet.
    private let (found, find) = AsyncStream.makeStream(of: Machine.self)

    /// Finds the machines that exist; nothing is connected yet.
    package init(_ choice: Choice) {
        self.choice = choice
        self.look()
    }

    /// Rings when any machine has new events, or one has been found.
    let bell = Bell()

    /// All machines, in the order in which they were found.
    var all: [Machine] { self.known.withLock { $0 } }

    /// The one of that name.
    subscript(name: String) -> Machine? { self.all.first { $0.name == name } }

    /// Follows them until the task is cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while await QuietClock().hasSlept(Self.pause) { self.look() }
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

    /// Adds the machines that were not known before.
    private func look() {
        let candidates: [(String, RuntimeDirectory)] =
            switch self.choice {
            case .directories(let directories):
                directories.map { ($0.path.split(separator: "/").last.map(String.init) ?? "/", $0) }
            case .all:
                Instance.all().map { ($0.name ?? "statemachine", $0.directory) }
            }
        self.known.withLock { known in
            for (name, directory) in candidates where known.count < Self.most {
                guard !known.contains(where: { $0.client.directory == directory }) else { continue }
                let own = Self.name(name) { name in known.contains { $0.name == name } }
                let machine = Machine(name: own, directory: directory)
                known.append(machine)
                self.find.yield(machine)
            }
        }
    }

    /// The name, with a number if it is taken, as the system's and the user's may be the same.
    private static func name(_ name: String, isTaken: (String) -> Bool) -> String {
        guard isTaken(name) else { return name }
        var number = 2
        while isTaken("\(name)-\(number)") { number += 1 }
        return "\(name)-\(number)"
    }
}
