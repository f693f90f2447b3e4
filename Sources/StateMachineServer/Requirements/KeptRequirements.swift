import NIOCore
import StateMachineCore

/// Keeps required guards in the history, and writes only what the history does not have.
///
/// Owns what was written. Belongs to the event loop, where the history's answers are delivered.
final class KeptRequirements {
    /// A requirement that the history was given.
    private struct Entry {
        /// As the history has it; nil if it does not yet.
        var written: Requirement?
    }

    private let loop: any EventLoop
    /// Where they are kept; nil if only in the record for the next process.
    private var history: (any RequirementHistory)?
    private var entries: [String: Entry] = [:]

    init(on loop: any EventLoop) {
        self.loop = loop
    }

    /// Keeps them in `history` from now on, which already has `left`.
    ///
    /// Without a history, `left` came from the last process.
    func begin(in history: (any RequirementHistory)?, having left: [Requirement]) {
        self.history = history
        guard history != nil else { return }
        for requirement in left where self.entries[requirement.name] == nil {
            self.entries[requirement.name] = Entry(written: requirement)
        }
    }

    /// Keeps a requirement as it is now, unless it is kept so already.
    ///
    /// - Parameters:
    ///   - requirement: the requirement.
    ///   - done: called when it is kept, with nil, or with why it could not be.
    func keep(_ requirement: Requirement, done: @escaping (_ failure: String?) -> Void = { _ in }) {
        let name = requirement.name
        guard let history, self.entries[name]?.written != requirement else { return done(nil) }
        self.entries[name] = self.entries[name] ?? Entry()
        history.keep(
            requirement,
            done: self.onLoop { failure in
                // Nothing is noted about one that was forgotten meanwhile.
                if failure == nil { self.entries[name]?.written = requirement }
                done(failure)
            }
        )
    }

    /// Removes the requirement of that name from the history.
    ///
    /// - Parameters:
    ///   - name: the requirement's name.
    ///   - done: called when it is removed, with nil, or with why it could not be.
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
