/// What a daemon supports beyond the basics of protocol 1, so that a client need not try it out.
package enum Feature: String, CaseIterable, Sendable {
    /// `words` in `set`, `send` and `update`, with a single value under the empty key.
    case words
    /// A pattern or a list of patterns wherever patterns are taken, `ifState` included.
    case patternLists
    /// Patterns that exclude states: `!name`, and `not` in an object.
    case exceptions
    /// `order`, `after`, `before`, `by` and `cause` of `history`.
    case historySearch
    /// `required` of `guard` and `release`.
    case requiredGuards
    /// `comm` and `unit` of the peer that requested a change, which `by` of `history` may name.
    case programs
    /// `outline` of `history`.
    case historyOutline
    /// `add`, `ifSeq` and `ifState` of `update`.
    case add
    /// `progress` of `history`.
    case historyProgress
    /// `ageMs` and `stayMs` in the answer to `get`.
    case ages
    /// `as` of `hold` and `release`.
    case named = "as"
    /// `untilMs` of `hold`.
    case untilMs
    /// A cursor in `ifSeq` and `ifStay`.
    case cursorConditions
    /// `trouble`, `suspended` and `overdue` in the answers to `get` and `stats`.
    case obstacles
    /// Holds and guards are asked about an `update` that makes one of their patterns match.
    case votersOnUpdate = "voters-on-update"
    /// `force` of `set`, `send` and `update`, and `forced`.
    case force
    /// `rights` in the answer to `describe`, and `may` in refusals.
    case rights
    /// Patterns that compare: `name:key>=value`, and `where` in an object.
    case comparisons = "where"
    /// `possible` of `get`.
    case possible
}
