import NIOCore
import StateMachineCore
import StateMachineProtocol

/// What is known of another machine that is followed.
///
/// Belongs to the event loop.
final class Look {
    /// How often the log says of one that it cannot be seen, at most.
    private static let complaintInterval = TimeAmount.minutes(1)

    let link: Link
    var task: Task<Void, Never>?
    /// The states that it has; nil: its daemon has not said.
    var schema: Schema?
    /// All that is asked of it, by its own types; where that cannot be asked, why.
    private(set) var conditions: [LinkCondition: Result<Pattern, WireError>] = [:]
    /// The state that came last; nil: it cannot be seen.
    var newest: NamedState?
    /// The state as far as the machine has dealt with it; nil: it could not be seen then.
    var taken: NamedState?
    /// Why it cannot be seen.
    var why: String? = "it has not answered yet"
    /// When it was last logged that it cannot be seen, and whether that is the newest word on it.
    private var complained: NIODeadline?
    private var isComplained = false

    init(_ link: Link) { self.link = link }

    deinit { self.task?.cancel() }

    /// Reads what is asked of it by its own types.
    func resolve(_ asked: Set<LinkCondition>) {
        self.conditions = Dictionary(
            uniqueKeysWithValues: asked.map { condition in
                let pattern = Result { () throws(WireError) in
                    let pattern = try Pattern(text: condition.pattern)
                    return try self.schema?.resolved(pattern) ?? pattern
                }
                return (condition, pattern)
            }
        )
    }

    /// Whether it meets that, as far as the machine has dealt with what was seen.
    func hasMet(_ condition: LinkCondition) -> Bool {
        guard let state = self.taken, case .success(let pattern)? = self.conditions[condition]
        else { return false }
        return pattern.holds(of: state)
    }

    // MARK: - What is said of it

    /// It can be seen again; returns whether the log's newest word on it is that it cannot.
    func found() -> Bool {
        self.why = nil
        return exchange(&self.isComplained, with: false)
    }

    /// When the log may next say that it cannot be seen; nil: now.
    var nextComplaint: NIODeadline? {
        guard let next = self.complained.map({ $0 + Self.complaintInterval }), next > .now() else {
            return nil
        }
        return next
    }

    /// Why it cannot be seen, if the log is to say that now.
    func complain() -> String? {
        guard let why = self.why, !self.isComplained else { return nil }
        (self.complained, self.isComplained) = (.now(), true)
        return why
    }

    /// Its state, or why it cannot be seen, what comes of it in vain, and what is asked of it in vain; with `onlyTroubles` nil
    /// if there is nothing to be said.
    func row(pending: [String], onlyTroubles: Bool) -> JSONValue? {
        var members = [JSONMember("link", .string(self.link.name))]
        let lacks = self.lacks
        if let why = self.why {
            members.append(JSONMember("why", .string(why)))
        } else if let state = self.newest {
            guard !onlyTroubles || !lacks.isEmpty || !pending.isEmpty else { return nil }
            members.append(JSONMember("state", .string(state.name)))
            members.append(JSONMember("data", .object(state.data)))
        }
        if !pending.isEmpty {
            members.append(JSONMember("pending", .array(pending.map { .string($0) })))
        }
        if !lacks.isEmpty {
            members.append(JSONMember("lacks", .array(lacks.map { .string($0) })))
        }
        return .object(members)
    }

    /// Sentences about it, if there is something to be said.
    var troubles: [String] {
        let unseen = self.why.map { "the link \(self.link.name) cannot be seen: \($0)" }
        return [unseen].compactMap(\.self) + self.lacks
    }

    /// What is asked of it that it does not have: `water is emtpy: there is no state "emtpy"`.
    private var lacks: [String] {
        self.conditions.compactMap { condition, pattern in
            guard case .failure(let error) = pattern else { return nil }
            return "\(condition.written): \(error.message)"
        }
        .sorted()
    }
}
