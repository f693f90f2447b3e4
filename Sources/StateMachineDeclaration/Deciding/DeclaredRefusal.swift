package import StateMachineProtocol

/// Why something that was asked for is not done; nothing has changed.
package enum DeclaredRefusal: Error, Hashable, Sendable {
    case unknownState(String, known: [String])
    case unknownEvent(String, known: [String])
    /// A sentence, and what is possible instead: fields' names or a field's values.
    case badData(String, known: [JSONValue])
    /// The state may not be set from the present one.
    case illegalTransition(String, from: String, allowed: [String])

    static func noField(_ name: String, owner: String, known: [String]) -> Self {
        let nearest = NearestName.of(name, among: known).map { "; did you mean \($0)?" }
        let all =
            known.isEmpty ? "; it has none" : "; known: \(known.joined(separator: ", "))"
        return .badData(
            "\(owner.quoted) has no field \(name.quoted)\(nearest ?? all)",
            known: known.map { .string($0) }
        )
    }

    /// A required field is not given.
    static func lacks(_ field: DeclaredField, owner: String) -> Self {
        .badData("\(owner.quoted) needs \(field.name.quoted), \(field.takes)", known: field.values)
    }

    /// What is wrong and what would be right.
    package var sentence: String {
        switch self {
        case .unknownState(let name, let known):
            "there is no state \(name.quoted)" + NearestName.remark(on: name, among: known)
        case .unknownEvent(let name, let known):
            known.isEmpty
                ? "this machine has no events"
                : "there is no event \(name.quoted)" + NearestName.remark(on: name, among: known)
        case .badData(let sentence, _): sentence
        case .illegalTransition(let name, let from, let allowed):
            "\(name.quoted) may not be set from \(from.quoted); "
                + (allowed.isEmpty
                    ? "nothing may" : "allowed: \(allowed.joined(separator: ", "))")
        }
    }
}
