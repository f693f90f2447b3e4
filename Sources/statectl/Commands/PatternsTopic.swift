import ArgumentParser

/// What "statectl help patterns" explains; it does nothing.
struct PatternsTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "patterns",
        abstract: "How patterns, values and times are written.",
        usage: "",
        discussion: """
            ready                  that state, or the states of that group
            ready:value=true,n=2   that state with these fields; others may be anything
            !ready                 every state but that; a shell wants it quoted

            Wherever one pattern is taken, several may be given: they select what one of them selects, \
            and !PATTERN takes away from what the others select.

            key=value              what the value means, the field's type says: of a text every value is the text
            key:=JSON              a value in JSON, such as n:=2 or tags:='["a"]'
            value                  alone: that of the one field that has to be given

            200ms, 30s, 2min, 1h30min, 2d or a number of seconds is a time.
            """,
        shouldDisplay: false
    )

    func run() throws { throw CleanExit.helpRequest(self) }
}
