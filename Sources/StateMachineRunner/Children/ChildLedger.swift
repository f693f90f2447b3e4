import StateMachineClient
import StateMachineDeclaration
import SystemPackage

/// The file of children that exist or are about to, for a runner that comes after a killed one.
struct ChildLedger: Sendable {
    private let file: WholeFile

    init(in directory: String) { self.file = WholeFile("runner-children.json", in: directory) }

    /// The sessions as of the last write.
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

    /// Writes the sessions; they need not survive a reboot, as children do not either.
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
