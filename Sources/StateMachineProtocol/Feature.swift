/// What a daemon knows beyond what every daemon of protocol 1 does, so that a client need not try it out.
package enum Feature: String, CaseIterable, Sendable {
    /// `words` in `set`, `send` and `update`, with one value alone under the empty key.
    case words
    /// A pattern or a list of patterns wherever patterns are taken, `ifState` included.
    case patternLists
    /// Patterns that take states away: `!name`, and `not` in an object.
    case exceptions
    /// `order`, `after`, `before`, `by` and `cause` of `history`.
    case historySearch
    /// `required` of `guard` and `release`.
    case requiredGuards
    /// `comm` and `unit` of who asked for a change, which `by` of `history` may name.
    case programs
    /// `outline` of `history`.
    case historyOutline
}
