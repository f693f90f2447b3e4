import ArgumentParser
import StateMachineClient
import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Show which past changes a file would not allow.",
        discussion: """
            Reads the changes that a daemon has recorded, and writes nothing; the daemon may run. States are carried \
            over as they would be at a start with the file, renamed ones too. The record does not say whether a \
            change was a set or an event: it counts as allowed if either may lead there. Exit codes: 0 all would be \
            allowed, 1 some would not, 2 the database cannot be read, 78 the file has errors.

            Examples:

              statectl replay lamp.yaml statemachine.sqlite
              statectl replay new.yaml . || echo "some changes would be refused"
            """
    )

    @Argument(help: "The file that declares the machine.", completion: .file(extensions: ["yaml"]))
    var file: String

    @Argument(
        help: "The database, or the state directory that it is in, as /var/lib/statemachine.",
        completion: .file(extensions: ["sqlite"])
    )
    var database: String

    func run() throws {
        let declaration = try DeclaredMachine.declaration(self.file)
        var count = 0
        var refused = 0
        let progress = Progress("looking through")
        defer { progress.end() }
        do {
            let recorded = try RecordedChanges(self.database)
            let whole = try recorded.count()
            while case let changes = try recorded.next(), !changes.isEmpty {
                // The first entry is the beginning, not a change.
                for change in changes where change.old != nil {
                    count += 1
                    progress.show(UInt64(count), of: whole)
                    guard let objection = declaration.objection(to: change) else { continue }
                    refused += 1
                    progress.end()
                    try StandardOutput.write("\(Self.text(change)): \(objection.printable)")
                }
            }
        } catch let error as RecordedChanges.Unreadable {
            StandardError.write("statectl: \(error.sentence.printable)")
            throw ExitStatus.usage
        }
        progress.end()
        let changes = "\(count) \(count == 1 ? "change" : "changes")"
        try StandardOutput.offer(
            refused == 0
                ? "\(changes), all of which would be allowed"
                : "\(refused) of \(changes) would not be allowed"
        )
        if refused > 0 { throw ExitStatus.no }
    }

    /// `#17  menu → playing(title: "x")`.
    private static func text(_ change: RecordedTransition) -> String {
        let states = [change.old, change.new].compactMap(\.self).map { state in
            NamedState(state.name, JSONValue(parsing: state.data)?.members ?? []).text
        }
        return "#\(change.seq)  \(states.joined(separator: " → "))"
    }
}
