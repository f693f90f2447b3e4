import StateMachineCore
import StateMachineProtocol

// What the file says, part by part, before names are resolved.

/// A target as it is written.
struct TargetDraft {
    struct Literal {
        enum Kind {
            /// `key=value`, or `key+=value` unless a field is called like that.
            case word
            case datum
            /// What is added.
            case amount
        }

        let field: Located<String>
        let value: YAMLNode
        let kind: Kind
    }

    let state: Located<String>
    let data: [Literal]
    /// Whether all given fields are known; if not, a field that seems missing may not be.
    var isWhole = true

    var position: FilePosition { self.state.position }
}

/// A word of the language, a target, or a refusal.
enum MoveDraft {
    /// It could not be read, which has been reported.
    case unread(FilePosition)
    case word(String, FilePosition)
    case target(TargetDraft)
    case refusal(Located<String>)

    var position: FilePosition {
        switch self {
        case .unread(let position), .word(_, let position): position
        case .target(let target): target.position
        case .refusal(let text): text.position
        }
    }
}

/// One of the cases that stand where something leads.
struct CaseDraft {
    /// All of which have to hold.
    let conditions: [Located<String>]
    var move: MoveDraft
}

/// A place where something leads somewhere.
enum CasePlace: Sendable {
    case when, link, after, end, interrupted, boot, lost

    /// The words that may stand there in place of a target.
    var words: [String] {
        switch self {
        case .when, .link: ["stay", "again", "ignore"]
        case .interrupted: ["again"]
        case .after, .end, .boot: ["again", "ignore"]
        case .lost: []
        }
    }

    /// Whether whoever asks may be refused there.
    var isForEvents: Bool { self == .when }

    /// Whether it stands under "when", where what is left of a time can be had.
    var isReaction: Bool { self == .when || self == .link }

    /// Whether fields may change there while the stay goes on.
    var mayKeep: Bool { self.isReaction || self == .after }
}

/// Names of states and groups.
enum NamesDraft {
    case any
    case listed([Located<String>])
}

struct ReactionDraft {
    /// An event's name, or what comes to be seen of another machine.
    let event: Located<String>
    let cases: [CaseDraft]

    /// Whether it is about another machine.
    var isOfLink: Bool { LinkCondition(self.event.value) != nil }
}

/// A time, and where it leads.
struct DeadlineDraft {
    /// Nil if it could not be read.
    let moment: StateDeclaration.Deadline.Moment?
    let position: FilePosition
    let cases: [CaseDraft]
}

struct LinkDraft {
    let link: Link
    let position: FilePosition
}

struct EventDraft {
    let name: Located<String>
    let fields: [Field]
    let by: Right?
}

struct GroupDraft {
    let name: Located<String>
    let members: [Located<String>]
    let reactions: [ReactionDraft]
    let after: [DeadlineDraft]
}

struct StateDraft {
    let name: Located<String>
    var about: String?
    var oldNames: [Located<String>] = []
    var fields: [Field] = []
    /// The old names of its fields, in the file's order.
    var oldFieldNames: [Located<String>] = []
    var to: NamesDraft?
    var requirements: [Located<String>] = []
    var reactions: [ReactionDraft] = []
    var after: [DeadlineDraft] = []
    var boot: [CaseDraft]?
    var run: RunDraft?
    var enter: [Located<DeclaredCommand>] = []
    var leave: [Located<DeclaredCommand>] = []
    var isFinal = false
    var mark: StateMark?
    var by: Right?

    /// All commands that could be read.
    var commands: [Located<DeclaredCommand>] {
        [self.run?.command].compactMap(\.self) + self.enter + self.leave
    }
}

struct RunDraft {
    /// Nil if it could not be read.
    let command: Located<DeclaredCommand>?
    let done: [CaseDraft]?
    let exits: [(code: Int, cases: [CaseDraft])]
    let failed: [CaseDraft]?
    let interrupted: [CaseDraft]?
    let restarts: Bool
}

struct FileDraft {
    let machine: String?
    let version: String?
    let about: String?
    let start: TargetDraft?
    let lost: [CaseDraft]
    let boot: [CaseDraft]?
    let to: NamesDraft?
    let always: [Located<String>]
    let by: Right?
    let links: [LinkDraft]
    let events: [EventDraft]
    let groups: [GroupDraft]
    let breaker: MoveBreaker.Limit
    /// The fields that every state has, and their old names.
    let shared: [Field]
    let oldSharedNames: [Located<String>]
    let states: [StateDraft]
}
