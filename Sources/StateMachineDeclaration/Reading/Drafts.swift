import StateMachineCore
import StateMachineProtocol

// What the file says, part by part, before names are resolved.

/// A target as it is written.
struct TargetDraft {
    struct Literal {
        let field: Located<String>
        let value: YAMLNode
    }

    let state: Located<String>
    let data: [Literal]
    /// Whether all given fields are known; if not, a field that seems missing may not be.
    var isWhole = true

    var position: FilePosition { self.state.position }
}

/// A word of the language, or a target.
enum MoveDraft {
    case word(String, FilePosition)
    case target(TargetDraft)
}

/// Names of states and groups.
enum NamesDraft {
    case any
    case listed([Located<String>])
}

struct ReactionDraft {
    let event: Located<String>
    let move: MoveDraft
}

struct EventDraft {
    let name: Located<String>
    let fields: [Field]
}

struct GroupDraft {
    let name: Located<String>
    let members: [Located<String>]
    let reactions: [ReactionDraft]
}

struct StateDraft {
    let name: Located<String>
    var about: String?
    var oldNames: [Located<String>] = []
    var fields: [Field] = []
    /// The old names of its fields, in the file's order.
    var oldFieldNames: [Located<String>] = []
    var to: NamesDraft?
    var reactions: [ReactionDraft] = []
    var after: (delay: Duration, target: TargetDraft)?
    var boot: MoveDraft?
    var run: RunDraft?
    var enter: [Located<DeclaredCommand>] = []
    var leave: [Located<DeclaredCommand>] = []
    var isFinal = false
    var mark: StateMark?

    /// All commands that could be read.
    var commands: [Located<DeclaredCommand>] {
        [self.run?.command].compactMap(\.self) + self.enter + self.leave
    }
}

struct RunDraft {
    /// Nil if it could not be read.
    let command: Located<DeclaredCommand>?
    let done: TargetDraft?
    let exits: [(code: Int, target: TargetDraft)]
    let failed: TargetDraft?
    let interrupted: MoveDraft?
    let restarts: Bool
}

struct FileDraft {
    let machine: String?
    let version: String?
    let about: String?
    let start: TargetDraft?
    let lost: TargetDraft?
    let boot: MoveDraft?
    let to: NamesDraft?
    let always: [Located<String>]
    let events: [EventDraft]
    let groups: [GroupDraft]
    let breaker: MoveBreaker.Limit
    let states: [StateDraft]
}
