import StateMachineProtocol

extension JSONValue {
    /// The JSON that is written for this value.
    var text: String { self.description }

    /// The value of a text that is JSON.
    init(reading text: String) throws(JSONSyntaxError) {
        var parser = JSONParser(Array(text.utf8))
        self = try parser.parse()
    }
}
