import Logging
import StateMachineCore
import StateMachineProtocol

extension StateServer {
    /// The current state for people, cut to a length that a message bears.
    var stateText: String { self.states.shortText(of: self.snapshot.value) }

    /// Where the machine stands and what declares it, for the log.
    var beginning: Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        if self.sharing?.isPlaced != false {
            metadata["state"] = "\(self.states.loggedText(of: self.snapshot.value))"
            metadata["seq"] = "\(self.snapshot.seq)"
            metadata["since"] = "\(self.snapshot.at.rfc3339)"
        }
        guard let declaration = self.schema.declaration else { return metadata }
        metadata["machine"] = declaration.machine.map { "\($0)" }
        metadata["declaration"] = "\(declaration.hash.prefix(12))"
        metadata["version"] = declaration.version.map { "\($0.printable)" }
        return metadata
    }

    /// What `help` answers at a door.
    func help(at door: Door, id: RequestID?) -> [UInt8] {
        let text = door.help(
            withEvents: self.schema.hasStays,
            shared: self.sharing != nil
        )
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
        let schema = self.schema
        let initial = schema.initial
        return ServerLine.reply(
            id: nil,
            own: { writer in
                writer.json("states", .array(schema.states.map { schema.described($0) }))
                writer.json(
                    "initial",
                    .object([
                        JSONMember("state", .string(initial.name)),
                        JSONMember("data", schema.codec.data(of: initial)),
                    ])
                )
                writer.json("transitions", schema.describedTransitions)
                if let name = schema.declaration?.machine { writer.string("machine", name) }
                if let declaration = schema.declaration {
                    writer.string("declaration", declaration.hash)
                }
                let events = schema.describedEvents
                if let events { writer.json("events", events) }
                if let links = schema.describedLinks { writer.json(.links, links) }
                if let rights = schema.describedRights { writer.json("rights", rights) }
                if !schema.groups.isEmpty {
                    writer.json(
                        "groups",
                        .object(schema.groups.map { JSONMember($0.name, .strings($0.members)) })
                    )
                }
                if let breaker = schema.rules?.breaker {
                    writer.json("breaker", breaker.json)
                }
                let operations = door.operations(
                    withEvents: events != nil,
                    shared: self.sharing != nil
                )
                let all = ErrorCode.allCases + (self.sharing == nil ? [] : ErrorCode.ofSharing)
                let errors = all.filter { events != nil || !ErrorCode.ofEvents.contains($0) }
                writer.json("operations", .strings(operations.map(\.rawValue)))
                writer.json("errors", .strings(errors.map(\.rawValue)))
                writer.json("limits", .object(self.limits.members + self.historyMembers))
                if let sharing = self.sharing {
                    writer.json("cluster", sharing.described(in: self.epoch))
                }
                writer.number("protocol", 1)
                writer.string("version", StateMachineVersion.current)
                writer.json("features", .strings(Feature.allCases.map(\.rawValue)))
            }
        )
    }
}

extension Sharing {
    /// The machine that is shared, and where this is, as `describe` has it.
    fileprivate func described(in epoch: Epoch) -> JSONValue {
        .object([
            JSONMember("machine", .string(self.engine.machineName)),
            JSONMember("host", .string(self.engine.host)),
            JSONMember("epoch", .string("\(epoch)")),
        ])
    }
}

extension Schema {
    /// A state for people, cut to a length that a message bears.
    func shortText(of value: Value) -> String {
        StateText.text(name: value.name, data: self.encoded(value).data).excerpt(128)
    }
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
