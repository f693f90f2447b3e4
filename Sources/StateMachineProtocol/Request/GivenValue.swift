/// A value of a request as it was given: in the line that was read, or made.
package struct GivenValue: Sendable {
    private enum Form: Sendable {
        case written(JSONText, at: JSONText.Place)
        case made(JSONValue)
    }

    private let form: Form

    /// One that was made.
    package init(_ value: JSONValue) { self.form = .made(value) }

    init(_ text: JSONText, at place: JSONText.Place) { self.form = .written(text, at: place) }

    /// The value; of one in a line it is made at each call.
    package var value: JSONValue {
        switch self.form {
        case .written(let text, let place): text.value(at: place)
        case .made(let value): value
        }
    }

    package var isObject: Bool {
        switch self.form {
        case .written(let text, let place): text.kind(at: place) == .object
        case .made(let value): value.members != nil
        }
    }

    /// Passes the bytes of an object in a line, with its brackets; nil of anything else.
    ///
    /// Objects of the same bytes have the same value.
    @inline(__always)
    func withWrittenObject<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        guard case .written(let text, let place) = self.form, text.kind(at: place) == .object else {
            return nil
        }
        return text.withWritten(at: place, body)
    }
}

extension GivenValue: Hashable {
    /// Whether both values are spelled the same.
    package static func == (left: GivenValue, right: GivenValue) -> Bool {
        left.value == right.value
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.value) }
}
