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

            Where one pattern can be given, several can: together they select all that any of them selects, \
            less what !PATTERN excludes.

            key=value              a value, read as the type of its field says
            key:=JSON              a value in JSON, such as n:=2 or tags:='["a"]'
            value                  the value of the one field that must be given

            200ms, 30s, 2min, 1h30min, 2d or a number of seconds is a time.
            """,
        shouldDisplay: false
    )

    func run() throws { throw CleanExit.helpRequest(self) }
}
