import StateMachineProtocol

/// The keys that a kind of map in the file may have.
///
/// These tables are the one place where keys are listed: the check for unknown keys and the schema for
/// editors are made from them.
struct KeyTable: Sendable {
    struct Key: Sendable {
        let name: String
        let form: KeyForm
        let isNeeded: Bool
        let about: String

        init(_ name: String, _ form: KeyForm, isNeeded: Bool = false, _ about: String) {
            self.name = name
            self.form = form
            self.isNeeded = isNeeded
            self.about = about
        }
    }

    /// What such a map is called, to go after "in".
    let title: String
    let keys: [Key]

    var names: [String] { self.keys.map(\.name) }

    func has(_ name: String) -> Bool { self.keys.contains { $0.name == name } }

    /// Whether one may have been meant.
    func hasLike(_ name: String) -> Bool { NearestName.of(name, among: self.names) != nil }
}

/// The form of a key's value.
indirect enum KeyForm: Sendable {
    case name
    case text
    /// An absolute path.
    case path
    /// An absolute path, perhaps with `-` before it.
    case optionalPath
    case boolean
    /// One of these words.
    case word([String])
    case integer(ClosedRange<Int>)
    /// A number of at least 1.
    case factor
    case time
    /// A value of the field's own type.
    case value
    case values
    case fieldType
    case target
    /// A word of the place, a target, or cases.
    case cases(CasePlace)
    /// A text or a list of texts.
    case conditions
    case names
    case namesOrOne
    case namesOrAny
    /// A list of users, groups with `@` before their names, and `any`.
    case accounts
    case command
    /// A string or a list of words, alone.
    case words
    case hooks
    case table(KeyTable)
    /// A type's name, or a table.
    case field(KeyTable)
    /// A map whose keys are names that the file defines.
    case map(KeyForm)
    /// A map from what happens, events and what comes to be seen of links, to cases.
    case reactions
    /// An instance, or a table.
    case link
    /// Fields of such a table, and perhaps who may.
    case event(KeyTable)
    case exitCodes
    /// A map from times, or fields that have one, to cases.
    case times
    /// Properties of a unit, and their values, which systemd judges.
    case unitProperties
}

extension KeyTable {
    /// The file.
    static let top = KeyTable(
        title: "the file",
        keys: [
            Key("machine", .name, "The machine's name; the instance's if left out."),
            Key("version", .text, "What this file is called, for people."),
            Key("about", .text, "What the machine is for."),
            Key("start", .target, isNeeded: true, "The state in which it begins."),
            Key("states", .map(.table(.state)), isNeeded: true, "The states."),
            Key(
                "fields",
                .map(.field(.field)),
                "Fields that every state has, and every move carries."
            ),
            Key(
                "boot",
                .cases(.boot),
                "Where the first start after a reboot leads; without it the state continues."
            ),
            Key("lost", .cases(.lost), "Where a start leads if the file no longer has the state."),
            Key("to", .namesOrAny, "What a client may set next, for states that do not say."),
            Key("always", .names, "What may be set from everywhere."),
            Key(
                "by",
                .accounts,
                "Who may set, update and send what does not say, and hold and guard; any."
            ),
            Key(
                "events",
                .map(.event(.eventField)),
                "What can be sent, with its fields, and by whom."
            ),
            Key("links", .map(.link), "Other machines on this host, to see their states."),
            Key("groups", .map(.table(.group)), "States that share events."),
            Key("defaults", .table(.defaults), "Settings of all commands."),
            Key("moves", .table(.moves), "The limit on automatic transitions."),
        ]
    )

    static let state = KeyTable(
        title: "a state",
        keys: [
            Key("about", .text, "A description, for people."),
            Key("was", .namesOrOne, "Its old names: a renamed state is carried over."),
            Key("fields", .map(.field(.field)), "The fields of this state."),
            Key("to", .namesOrAny, "What a client may set next."),
            Key("by", .accounts, "Who may set it, and update it."),
            Key("requires", .conditions, "What has to be seen of links for it to be entered."),
            Key("when", .reactions, "Where events lead, and what is seen; goes before groups."),
            Key("after", .times, "Where times lead, from the stay's start."),
            Key("boot", .cases(.boot), "Where the first start in a new boot leads."),
            Key("run", .command, "What runs while the stay lasts."),
            Key("done", .cases(.end), "Where an end of the run with exit 0 leads."),
            Key("exit", .exitCodes, "Where an end of the run with that exit code leads."),
            Key("failed", .cases(.end), "Where any other end of the run leads."),
            Key("enter", .hooks, "What is run on entering, each to its end."),
            Key("leave", .hooks, "What is run on leaving, each to its end."),
            Key("final", .boolean, "Whether it is intended that nothing leads out."),
            Key(
                "mark",
                .word(StateMark.allCases.map(\.rawValue)),
                "Whether it is a good state: its colour wherever machines are shown."
            ),
        ]
    )

    static let group = KeyTable(
        title: "a group",
        keys: [
            Key("states", .names, isNeeded: true, "Its members."),
            Key("when", .reactions, "Where what leads that a member does not name."),
            Key("after", .times, "Where times lead, from when the group is entered."),
        ]
    )

    static let link = KeyTable(
        title: "a link",
        keys: [
            Key("runtime-directory", .path, isNeeded: true, "Where the other daemon's doors are.")
        ]
    )

    static let moves = KeyTable(
        title: "\"moves\"",
        keys: [
            Key(
                "most",
                .integer(1...100_000),
                "How many automatic transitions without a request in between; 50."
            ),
            Key("in", .time, "Within this time; 1min."),
        ]
    )

    static let field = KeyTable(
        title: "a field",
        keys: KeyTable.eventField.keys + [Key("was", .namesOrOne, "Its old name.")]
    )

    static let eventField = KeyTable(
        title: "a field",
        keys: [
            Key("type", .fieldType, "What its values are."),
            Key("values", .values, "All its possible values."),
            Key("default", .value, "The value if nothing else gives one."),
            Key("optional", .boolean, "Whether it may be absent."),
            Key("min", .value, "The least value, or bytes of text."),
            Key("max", .value, "The greatest value, or bytes of text."),
        ]
    )

    static let target = KeyTable(
        title: "a target",
        keys: [
            Key("state", .name, isNeeded: true, "Where it leads."),
            Key("data", .map(.value), "Values of its fields."),
            Key("add", .map(.value), "What is added to the values of the state that is left."),
        ]
    )

    static let aCase = KeyTable(
        title: "a case",
        keys: [
            Key("if", .conditions, "What must hold of the event's and the state's fields; always."),
            Key("to", .target, "Where it leads, or a word that may stand in its place."),
            Key("refuse", .text, "What whoever sends the event is told, and nothing happens."),
        ]
    )

    static let run = KeyTable(
        title: "\"run\"",
        keys: KeyTable.hook.keys + [
            Key(
                "interrupted",
                .cases(.interrupted),
                "Where it leads if a stop of the daemon or a reboot ended it; again."
            ),
            Key(
                "restart",
                .word(["no", "always"]),
                "Whether it is begun again whenever it ends, after the waits of retry; no."
            ),
        ]
    )

    static let hook = KeyTable(
        title: "a command",
        keys: [Key("command", .words, isNeeded: true, "The program and its arguments; no shell.")]
            + KeyTable.defaults.keys
    )

    static let defaults = KeyTable(
        title: "\"defaults\"",
        keys: [
            Key("user", .text, "The user that runs it; root."),
            Key("group", .text, "The group; the user's."),
            Key("timeout", .time, "How long it may take; run for ever, enter and leave 1min."),
            Key("stop", .time, "From SIGTERM to SIGKILL; 10s."),
            Key("retry", .table(.retry), "How it is tried again; not at all."),
            Key("directory", .path, "Where it runs; /."),
            Key("environment", .map(.text), "Variables."),
            Key(
                "environment-file",
                .optionalPath,
                "A file of variables; with -/ it may be missing."
            ),
            Key("properties", .unitProperties, "Its limits, as properties of systemd."),
        ]
    )

    static let retry = KeyTable(
        title: "\"retry\"",
        keys: [
            Key("times", .integer(1...Retry.most), "How many times; for ever."),
            Key("wait", .time, "The wait before the first retry; 1s."),
            Key("factor", .factor, "The factor by which each wait grows; 1."),
            Key("longest", .time, "The longest wait; 5min."),
        ]
    )
}
