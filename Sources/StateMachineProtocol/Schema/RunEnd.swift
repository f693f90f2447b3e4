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
        let known = EventShape.endOfRun.fields.map(\.name)
        let given = data.filter { $0.value != .null }
        if let odd = given.first(where: { member in !known.contains { member.key.isSpelled($0) } })
        {
            throw .noField(odd.key, owner: EventShape.endOfRun.name, known: known)
        }
        guard let member = given.first, given.count == 1 else {
            throw WireError(
                .badData,
                "\(EventShape.endOfRun.name) needs one of \(known.joined(separator: ", "))",
                known: known
            )
        }
        switch (member.key, member.value) {
        case ("exit", let value):
            guard let code = value.integer, (0...255).contains(code) else {
                throw WireError(
                    .badData,
                    "exit=\(value): an exit code must be a number from 0 to 255"
                )
            }
            self = .exit(Int(code))
        case ("signal", let value):
            guard let name = value.string, Self.isSignal(name) else {
                throw WireError(
                    .badData,
                    "signal=\(value): write the name of the signal, like SIGKILL"
                )
            }
            self = .signal(name)
        case (let key, .bool(true)): self = key.isSpelled("timeout") ? .timeout : .interrupted
        case (let key, let value):
            throw WireError(
                .badData,
                "\(key)=\(value): write true, or leave it out",
                values: [.bool(true)]
            )
        }
    }

    /// Whether a text looks like a signal's name: `SIGTERM`, `SIGRTMIN+3`.
    package static func isSignal(_ name: String) -> Bool {
        name.hasPrefix("SIG") && (4...16).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                $0.isDigit || ($0.isLetter && $0 & 0x20 == 0) || "+-".utf8.contains($0)
            }
    }
}

extension EventShape {
    /// Tells a declared machine how the command of a stay has ended: an event that every machine
    /// has, under a name that no file can declare.
    package static let endOfRun = EventShape(
        "run.ended",
        fields: [
            Field("exit", type: .integer, isOptional: true),
            Field("signal", type: .string, isOptional: true),
            Field("timeout", type: .boolean, isOptional: true),
            Field("interrupted", type: .boolean, isOptional: true),
        ]
    )
}

extension WireError {
    /// The refusal of data with a field that a file's state or event does not have.
    package static func noField(_ name: String, owner: String, known: [String]) -> WireError {
        let nearest = NearestName.of(name, among: known).map { "; did you mean \($0)?" }
        let all = known.isEmpty ? "; it has none" : "; known: \(known.joined(separator: ", "))"
        return WireError(
            .badData,
            "\(owner.quoted) has no field \(name.quoted)\(nearest ?? all)",
            known: known
        )
    }
}
