import StateMachineProtocol

extension JSONValue {
    /// The JSON text of this value.
    var text: String { self.description }

    /// Parses a JSON text.
    init(reading text: String) throws(JSONSyntaxError) {
        var parser = JSONParser(Array(text.utf8))
        self = try parser.parse()
    }
}
