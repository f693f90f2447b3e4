package import StateMachineProtocol

extension Drawing {
    /// The drawing for other programs: `states` in their order, each with its name, its lines of
    /// text, what bars it and its `arrows`, which name states by their numbers.
    package var json: JSONValue {
        .object([
            JSONMember("title", self.title.map { .string($0) } ?? .null),
            JSONMember("initial", .integer(self.initial)),
            JSONMember("states", .array(self.states.map(\.json))),
        ])
    }
}

extension Drawing.State {
    fileprivate var json: JSONValue {
        .object([
            JSONMember("name", .string(self.name)),
            JSONMember("groups", .array(self.groups.map { .string($0) })),
            JSONMember("lines", .array(self.lines.map { .string($0) })),
            JSONMember("final", .bool(self.isFinal)),
            JSONMember("open", .bool(self.isOpen)),
            JSONMember("bar", self.bar.map { .string($0.rawValue) } ?? .null),
            JSONMember("arrows", .array(self.arrows.map(\.json))),
        ])
    }
}

extension Drawing.Arrow {
    fileprivate var json: JSONValue {
        .object([
            JSONMember("to", .integer(self.to)),
            JSONMember("labels", .array(self.labels.map { .string($0) })),
            JSONMember("set", .bool(self.isSetOnly)),
        ])
    }
}
