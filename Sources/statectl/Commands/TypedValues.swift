import ArgumentParser
import StateMachineClient

/// Reads values as people type them.
enum TypedValues {
    /// The data that `key=value` words stand for; nil without any.
    static func data(_ words: [String], for state: String) throws -> [JSONMember]? {
        guard !words.isEmpty else { return nil }
        var members: [JSONMember] = []
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError(
                    "\"\(word)\" is not key=value; a value without a label is written "
                        + "value=…: statectl set \(state) value=\(parts.last ?? "")"
                )
            }
            let key = String(parts[0])
            guard !members.contains(where: { $0.key == key }) else {
                throw ValidationError("\"\(key)\" is given twice; give each key once")
            }
            members.append(JSONMember(key, JSONValue(typed: parts[1])))
        }
        return members
    }
}

/// A span of time as it is typed: seconds, with a fraction if need be.
struct Seconds: ExpressibleByArgument {
    let duration: Duration

    /// Nil unless it is a number from 0 to 10^9, which is 31 years.
    init?(argument: String) {
        guard let seconds = Double(argument), seconds >= 0, seconds <= 1e9 else { return nil }
        self.duration = .seconds(seconds)
    }
}
