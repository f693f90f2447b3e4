package import StateMachineProtocol

/// How the command of a stay has ended.
package enum RunEnd: Hashable, Sendable {
    case exit(Int)
    /// The signal's name, as `SIGKILL`.
    case signal(String)
    case timeout
    /// A stop of the daemon, or a reboot, has ended it.
    case interrupted
}

// How the event `run.ended` carries it.
extension RunEnd {
    /// What the event carries, an object with one key.
    package var data: JSONValue {
        switch self {
        case .exit(let code): ["exit": .integer(code)]
        case .signal(let name): ["signal": .string(name)]
        case .timeout: ["timeout": true]
        case .interrupted: ["interrupted": true]
        }
    }

    /// Reads what the event carries; null counts as absent.
    ///
    /// - Throws: `bad-data`.
    package init(_ data: [JSONMember]) throws(WireError) {
        let known = StateSchema.endOfRun.fields.map(\.name)
        let given = data.filter { $0.value != .null }
        if let odd = given.first(where: { member in !known.contains { member.key.isSpelled($0) } })
        {
            throw .noField(odd.key, owner: StateSchema.endOfRun.name, known: known)
        }
        guard let member = given.first, given.count == 1 else {
            throw .badData(
                "\(StateSchema.endOfRun.name) carries one of \(known.joined(separator: ", "))",
                known: known.map { .string($0) }
            )
        }
        switch (member.key, member.value) {
        case ("exit", let value):
            guard let code = value.integer, (0...255).contains(code) else {
                throw .badData("exit=\(value): an exit code is a number from 0 to 255", known: [])
            }
            self = .exit(Int(code))
        case ("signal", let value):
            guard let name = value.string, Self.isSignal(name) else {
                throw .badData(
                    "signal=\(value): a signal is written by its name, as SIGKILL",
                    known: []
                )
            }
            self = .signal(name)
        case (let key, .bool(true)): self = key.isSpelled("timeout") ? .timeout : .interrupted
        case (let key, let value):
            throw .badData("\(key)=\(value): write true, or leave it out", known: [.bool(true)])
        }
    }

    /// Whether a text looks like a signal's name: `SIGTERM`, `SIGRTMIN+3`.
    static func isSignal(_ name: String) -> Bool {
        name.hasPrefix("SIG") && (4...16).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            }
    }
}
