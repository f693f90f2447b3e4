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

    /// What a map with these keys is, to go after "in".
    let title: String
    let keys: [Key]

    var names: [String] { self.keys.map(\.name) }

    func has(_ name: String) -> Bool { self.keys.contains { $0.name == name } }
}

/// What may be written for a key.
indirect enum KeyForm: Sendable {
    case name
    case text
    /// An absolute path.
    case path
    case boolean
    case integer(ClosedRange<Int>)
    /// A number of at least 1.
    case factor
    case time
    /// What a field's own type says.
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
    /// A map with names of the file's own.
    case map(KeyForm)
    case exitCodes
    case oneTime
    /// Properties of a unit, and their values.
    case unitProperties
}
