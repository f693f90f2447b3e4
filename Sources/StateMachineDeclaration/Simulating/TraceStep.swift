import StateMachineProtocol

/// A line of a trace.
package struct TraceStep: Hashable, Sendable {
    /// What happens.
    package enum Action: Hashable, Sendable {
        case send(String, [TraceWord])
        case set(String, [TraceWord])
        case update([TraceWord])
        case wait(Duration)
        case run(RunEnd, times: Int)
        case reboot
        /// Nothing happens: the state is only checked.
        case look
    }

    /// What is written instead of an expected state if the step is to be refused.
    package static let refusal = "refused"

    package let line: Int
    package let action: Action
    /// The state that is expected afterwards, with some of its fields; nil if none is.
    package let expected: Expectation?

    /// A state with some of its fields.
    package struct Expectation: Hashable, Sendable {
        package let state: String
        package let fields: [TraceWord]

        /// As it is written in the trace.
        package var written: String {
            ([self.state] + self.fields.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
        }
    }
}

/// `key=value` in a trace; the field says what type it has.
package struct TraceWord: Hashable, Sendable {
    package let key: String
    package let value: String

    /// Whether it is `key+=number`, which an update takes; no field's name ends so.
    var isAmount: Bool { self.key.utf8.last == UInt8(ascii: "+") }

    /// What `key+=number` adds to which field.
    var amount: JSONMember {
        get throws(WireError) {
            guard let amount = JSONValue(parsing: self.value), case .number = amount else {
                throw .badData("\(self.key)=\(self.value): write a number", known: [])
            }
            return JSONMember(String(self.key.dropLast()), amount)
        }
    }
}

/// What is wrong with a line of a trace, or what happened otherwise than it says.
package struct TraceFailure: Error, Hashable, Sendable {
    package let line: Int
    package let sentence: String

    /// As a line of text: `TRACEFILE:LINE: sentence`.
    package func text(in file: String) -> String { "\(file):\(self.line): \(self.sentence)" }
}
