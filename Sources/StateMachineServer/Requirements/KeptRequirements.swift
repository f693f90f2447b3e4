import NIOCore
import StateMachineCore

/// What the history has of the guards that are required, so that only what it does not have is written.
///
/// Owns what was written. Belongs to the event loop, to which what the history answers is brought.
final class KeptRequirements {
    /// One that it has been given.
    private struct Entry {
        /// As the history has it; nil if it does not yet.
        var written: Requirement?
    }

    private let loop: any EventLoop
    /// Where they are kept; nil: nowhere but in what is left to the next process.
    private var history: (any RequirementHistory)?
    private var entries: [String: Entry] = [:]

    init(on loop: any EventLoop) {
        self.loop = loop
    }

    /// Keeps them in a history from now on, which has those that were left; nil: they came from the last process.
    func begin(in history: (any RequirementHistory)?, having left: [Requirement]) {
        self.history = history
        guard history != nil else { return }
        for requirement in left where self.entries[requirement.name] == nil {
            self.entries[requirement.name] = Entry(written: requirement)
        }
    }

    /// Has one kept as it is now, unless it is.
    ///
    /// - Parameters:
    ///   - requirement: as it is.
    ///   - done: called when that is kept; nil, or why it could not be.
    func keep(_ requirement: Requirement, done: @escaping (_ failure: String?) -> Void = { _ in }) {
        let name = requirement.name
        guard let history, self.entries[name]?.written != requirement else { return done(nil) }
        self.entries[name] = self.entries[name] ?? Entry()
        history.keep(
            requirement,
            done: self.onLoop { failure in
                // Of one that was forgotten meanwhile nothing is noted.
                if failure == nil { self.entries[name]?.written = requirement }
                done(failure)
            }
        )
    }

    /// Has nothing kept of the one of that name.
    ///
    /// - Parameters:
    ///   - name: what it is known by.
    ///   - done: called when nothing is; nil, or why something still is.
    func forget(_ name: String, done: @escaping (_ failure: String?) -> Void) {
        self.entries[name] = nil
        guard let history else { return done(nil) }
        history.forget(name, done: self.onLoop(done))
    }

    private func onLoop(
        _ done: @escaping (String?) -> Void
    ) -> @Sendable (_ failure: String?) -> Void {
        let bound = NIOLoopBound(done, eventLoop: self.loop)
        return { [loop] failure in loop.execute { bound.value(failure) } }
    }
}
