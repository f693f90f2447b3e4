import Logging
import StateMachineCore
import StateMachineProtocol

extension StateServer {
    /// The current state for people, cut to a length that a message bears.
    var stateText: String { self.snapshot.value.shortText }

    /// Where the machine stands and what declares it, for the log.
    var beginning: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "state": "\(self.snapshot.value.loggedText)",
            "seq": "\(self.snapshot.seq)",
            "since": "\(self.snapshot.at.rfc3339)",
        ]
        guard let declaration = self.current.declaration else { return metadata }
        metadata["machine"] = declaration.machine.map { "\($0)" }
        metadata["declaration"] = "\(declaration.hash.prefix(12))"
        metadata["version"] = declaration.version.map { "\($0.printable)" }
        return metadata
    }

    /// What `help` answers at a door.
    func help(at door: Door, id: RequestID?) -> [UInt8] {
        let text = door.help(withEvents: self.current.events != nil)
        return ServerLine.reply(id: id, own: { $0.string("help", text) })
    }

    /// What `describe` answers at a door, without an `id`.
    func description(at door: Door) -> [UInt8] {
        if let description = self.descriptions[door] { return description }
        let description = self.describe(for: door)
        self.descriptions[door] = description
        return description
    }

    private func describe(for door: Door) -> [UInt8] {
        let (schema, current) = (self.schema, self.current)
        let initial = current.initial
        return ServerLine.reply(
            id: nil,
            own: { writer in
                writer.json(
                    "states",
                    .array(
                        schema.cases.map { $0.description(current.description(of: $0.name)) }
                    )
                )
                writer.json(
                    "initial",
                    .object([
                        JSONMember("state", .string(initial.name)),
                        JSONMember("data", current.data(of: initial)),
                    ])
                )
                writer.json(
                    "transitions",
                    .object(schema.cases.map { JSONMember($0.name, .strings($0.successors)) })
                )
                if let name = current.declaration?.machine { writer.string("machine", name) }
                if let declaration = current.declaration {
                    writer.string("declaration", declaration.hash)
                }
                let events = current.events
                if let events { writer.json("events", events) }
                if !schema.groups.isEmpty {
                    writer.json(
                        "groups",
                        .object(schema.groups.map { JSONMember($0.name, .strings($0.members)) })
                    )
                }
                if let (moves, time) = current.allowance(of: initial) {
                    writer.json("breaker", Suspension(moves: moves, time: time).json)
                }
                let operations = door.operations(withEvents: events != nil)
                let errors = ErrorCode.allCases.filter {
                    events != nil || !ErrorCode.ofEvents.contains($0)
                }
                writer.json("operations", .strings(operations.map(\.rawValue)))
                writer.json("errors", .strings(errors.map(\.rawValue)))
                writer.json("limits", .object(self.limits.members + self.historyMembers))
                writer.number("protocol", 1)
                writer.string("version", StateMachineVersion.current)
                writer.json("features", .strings(Feature.allCases.map(\.rawValue)))
            }
        )
    }
}

extension Value {
    /// For people, cut to a length that a message bears.
    var shortText: String { StateText.text(name: self.name, data: self.data).excerpt(128) }
}

extension ServerLine.Report {
    /// The state for people, cut to a length that a message bears.
    var stateText: String {
        let object = JSONValue(parsing: "{\(String(decoding: self.fragment, as: UTF8.self))}")
        return StateText.text(
            name: object?["state"]?.string ?? "?",
            data: object?["data"] ?? .object([])
        )
        .excerpt(128)
    }
}

extension StateServer {
    /// What the history keeps; nothing without one.
    private var historyMembers: [JSONMember] { self.past.disk?.history.settings ?? [] }
}

extension StateSchema.Case {
    fileprivate func description(_ behaviour: [JSONMember]) -> JSONValue {
        let fields = self.fields.map { JSONMember($0.name, $0.description) }
        return .object(
            [JSONMember("state", .string(self.name)), JSONMember("fields", .object(fields))]
                + behaviour
        )
    }
}

extension StateField {
    fileprivate var description: JSONValue {
        var members = [JSONMember("type", .string(self.type.rawValue))]
        if !self.values.isEmpty && self.type != .boolean {
            members.append(JSONMember("values", .array(self.values)))
        }
        if self.isOptional { members.append(JSONMember("optional", .bool(true))) }
        return .object(members + self.range)
    }
}

extension ServerLimits {
    fileprivate var members: [JSONMember] {
        self.all.map { JSONMember($0.name, .integer($0.value)) }
    }
}

extension JSONValue {
    fileprivate static func strings(_ strings: [String]) -> JSONValue {
        .array(strings.map { .string($0) })
    }
}
