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
    case integer(ClosedRange<Int>)
    /// A number of at least 1.
    case factor
    case time
    /// A value of the field's own type.
    case value
    case values
    case fieldType
    case target
    /// One of these words, or a target.
    case wordOrTarget([String])
    case names
    case namesOrOne
    case namesOrAny
    case command
    /// A string or a list of words, alone.
    case words
    case hooks
    case table(KeyTable)
    /// A type's name, or a table.
    case field(KeyTable)
    /// A map whose keys are names that the file defines.
    case map(KeyForm)
    case exitCodes
    case oneTime
    /// Properties of a unit, and their values, which systemd judges.
    case unitProperties
}
