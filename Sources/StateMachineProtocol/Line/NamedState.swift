/// A state as it appears in a line: the case's name, and the associated values by label.
public struct NamedState: Hashable, Sendable {
    /// The case's name.
    public let name: String
    /// The associated values; one without a label is `value`, further ones `value2`, `value3` ….
    public let data: [JSONMember]

    /// The state of that name with those values.
    public init(_ name: String, _ data: [JSONMember] = []) {
        self.name = name
        self.data = data
    }

    init?(_ value: JSONValue) {
        guard let name = value["state"]?.string else { return nil }
        self.init(name, value["data"]?.members ?? [])
    }
}
