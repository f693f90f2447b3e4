/// What is made durable before it is in force: one entry of a group.
///
/// Indirect but for a change, to keep that small.
package enum Record: Sendable {
    case change(Change)
    /// A hold or a guard as it is from now on, in place of the one of its number.
    indirect case voter(KeptVoter)
    /// The hold or guard of that number has ended.
    case voterEnded(UInt64)
    /// The moment from which the present stay counts; what is noted of an older one is passed over.
    indirect case stay(StayStart)
    /// What is known of the times of the present stay: that state knows it.
    indirect case times(Value)
    /// How far linked machines have been followed in the present stay; what is noted of an older one is passed over.
    indirect case links(KeptLinks)
    /// What declares the state after that change, and all that follow.
    indirect case declared(RecordedDeclaration, from: UInt64)

    /// The number of the hold or guard that it is about; nil if it is about none.
    package var voter: UInt64? {
        if case .voter(let number)? = self.subject { number } else { nil }
    }

    /// What a record is about of which only the newest counts.
    enum Subject: Hashable, Sendable {
        case voter(UInt64)
        case stay
        case links
        case declaration
    }

    /// What it is about; nil for what each counts of.
    var subject: Subject? {
        switch self {
        case .change, .times: nil
        case .voter(let voter): .voter(voter.number)
        case .voterEnded(let number): .voter(number)
        case .stay: .stay
        case .links: .links
        case .declared: .declaration
        }
    }
}

extension Recorded {
    /// Why it is not durable, or may not be; nil if it is, or is to be decided again.
    package var failure: String? {
        switch self {
        case .committed, .overtaken: nil
        case .failed(let why), .unsure(let why): why
        }
    }
}

/// What has become of a group.
package enum Recorded: Sendable {
    /// It is durable.
    case committed
    /// It is not, nor will it be, and why.
    case failed(String)
    /// Others were first, and nothing of it is durable: these come next, and then what it asks for is decided again.
    ///
    /// Voters of others that it did not know are added to the machine before this is said, and have their say then.
    case overtaken([Change])
    /// It may be durable, and why that is not known; if it is, that comes by ``Machine/adopt(_:)``.
    case unsure(String)
}

/// Where changes, and what goes with them, are made durable before they happen, as the engine sees it;
/// ``WriteAheadLog`` is its typed face.
package protocol Recording: AnyObject, Sendable {
    /// Whether the calling code runs where the log commits.
    var isCurrent: Bool { get }

    /// Whether an answer that changes nothing waits until the log says that others have not moved the machine.
    var confirms: Bool { get }

    /// How many of these records, from the first on, one group may have.
    ///
    /// What does not fit goes with the next group; one proposal's records stay together, and come though they do not fit.
    /// It may be called from anywhere, and only looks.
    func room(for records: [Record]) -> Int

    /// Commits `group`, all of it or nothing, and then calls `done`, once, from anywhere; one group at a time.
    ///
    /// - Parameters:
    ///   - group: what to commit, in order; empty only where the log ``confirms``, and never unsure then.
    ///   - done: called with what has become of it.
    func record(_ group: [Record], done: @escaping @Sendable (Recorded) -> Void)

    /// Makes all that was committed as safe as can be, and notes that nothing is under way: the daemon is going down.
    ///
    /// What is committed later is as safe as ever.
    ///
    /// - Parameter done: called once, from anywhere; nil, or why it could not be done.
    func settle(done: @escaping @Sendable (_ failure: String?) -> Void)
}

extension Recording {
    /// All of them.
    package func room(for records: [Record]) -> Int { records.count }
}

/// A log whose work is done by one that the engine calls itself.
package protocol RecordingLog: WriteAheadLog {
    var recording: any Recording { get }
}

/// A program's own log as the engine calls it; it keeps changes alone.
final class ProgramLog: Recording {
    private let isHere: @Sendable () -> Bool
    private let commit: @Sendable ([Change], @escaping @Sendable (String?) -> Void) -> Void

    init<State: MachineState>(_ log: any WriteAheadLog<State>) {
        self.isHere = { log.isCurrent }
        self.commit = { group, done in log.commit(group.map { Transition($0) }, done: done) }
    }

    var isCurrent: Bool { self.isHere() }
    var confirms: Bool { false }

    func settle(done: @escaping @Sendable (_ failure: String?) -> Void) { done(nil) }

    func record(_ group: [Record], done: @escaping @Sendable (Recorded) -> Void) {
        let changes = group.compactMap { record -> Change? in
            if case .change(let change) = record { change } else { nil }
        }
        guard !changes.isEmpty else { return done(.committed) }
        self.commit(changes) { failure in done(failure.map { .failed($0) } ?? .committed) }
    }
}
