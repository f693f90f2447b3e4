import StateMachineClient
import StateMachineDeclaration
import SystemPackage

/// The file that says which children there are, or may be in a moment, for a runner that finds what a killed one has left.
struct ChildLedger: Sendable {
    private let file: WholeFile

    init(in directory: String) { self.file = WholeFile("runner-children.json", in: directory) }

    /// What was there when it was last written.
    func sessions() throws(RunnerError) -> [ChildSession] {
        let bytes: [UInt8]?
        do {
            bytes = try self.file.read()
        } catch {
            throw RunnerError("cannot read \(self.file.path): \(error)")
        }
        guard let bytes, let json = JSONValue(parsing: String(decoding: bytes, as: UTF8.self))
        else {
            return []
        }
        return (json.elements ?? []).compactMap { element in
            guard let leader = element["leader"]?.integer.flatMap({ Int32(exactly: $0) }),
                let start = element["start"]?.integer.flatMap({ UInt64(exactly: $0) }),
                let token = element["token"]?.string, let grace = element["graceMs"]?.integer
            else { return nil }
            let time = Duration.milliseconds(grace)
            return ChildSession(leader: leader, start: start, token: token, grace: time)
        }
    }

    /// It need not outlive the machine: nor do children.
    func write(_ sessions: [ChildSession]) throws(RunnerError) {
        let json = JSONValue.array(
            sessions.map { session in
                .members([
                    ("leader", .integer(session.leader)),
                    ("start", .integer(session.start)),
                    ("token", .string(session.token)),
                    ("graceMs", .integer(session.grace.wholeMilliseconds)),
                ])
            }
        )
        do throws(Errno) {
            try self.file.write("\(json)\n", mode: 0o600, isDurable: false)
        } catch {
            throw RunnerError("cannot write \(self.file.path): \(error)")
        }
    }
}
