import ArgumentParser
import StateMachineClient
import StateMachineCore

struct MachinesCommand: DaemonCommand {
    /// How long a daemon that does not answer may keep the list waiting.
    private static let timeout = Duration.seconds(2)

    static let configuration = CommandConfiguration(
        commandName: "machines",
        abstract: "List the machines, with their states.",
        discussion: """
            Looks into $STATEMACHINE_RUNTIME_DIRECTORY, /run/statemachine and $XDG_RUNTIME_DIR/statemachine, and into \
            the directories in them, one for each instance. With --json a line for each machine: instance, directory, \
            machine, state, data, seq and at, or error. Exit codes: 0 at least one answers, 69 none does.

            Examples:

              statectl machines
              statectl machines --json
            """
    )

    @OptionGroup var options: SharedOptions

    func validate() throws {
        guard self.options.runtimeDirectory == nil, self.options.machine.isEmpty else {
            throw ValidationError("machines lists all; statectl get shows one")
        }
    }

    func run() async throws {
        let instances = Instance.all()
        guard !instances.isEmpty else {
            StandardError.write(
                "statectl: no machine found in \(Instance.places.joined(separator: " and ").printable); "
                    + "is a service running? systemctl status 'statemachine*'"
            )
            throw ExitStatus.unreachable
        }
        let rows = await Self.rows(of: instances)
        if self.options.json {
            for row in rows { try StandardOutput.offer(row.object.description) }
        } else {
            try StandardOutput.offer(MachinesText(text: self.options.text).text(rows))
        }
        guard rows.contains(where: { $0.report != nil }) else { throw ExitStatus.unreachable }
    }

    /// Asks all of them at once.
    private static func rows(of instances: [Instance]) async -> [MachineRow] {
        await withTaskGroup(of: (Int, MachineRow).self) { group in
            for (index, instance) in instances.enumerated() {
                group.addTask { (index, await Self.row(of: instance)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func row(of instance: Instance) async -> MachineRow {
        let client = Client(instance.directory)
        do {
            let report = try await client.accepted(.get, within: Self.timeout)
            let description = try await client.accepted(.describe, within: Self.timeout)
            return MachineRow(
                instance: instance,
                machine: description["machine"]?.string,
                report: report
            )
        } catch let error as ClientError {
            return MachineRow(instance: instance, error: error.description)
        } catch {
            return MachineRow(instance: instance, error: "\(error)")
        }
    }
}

/// What is known of one instance.
struct MachineRow {
    let instance: Instance
    /// The machine's name in its file.
    var machine: String?
    /// The answer to `get`; nil if there is none.
    var report: Line?
    /// Why there is none.
    var error: String?

    var object: JSONValue {
        var members = [
            JSONMember("instance", self.instance.name.map { .string($0) } ?? .null),
            JSONMember("directory", .string(self.instance.directory.path)),
        ]
        if let machine { members.append(JSONMember("machine", .string(machine))) }
        for key in ["state", "data", "seq", "at", "stay", "due"] {
            if let value = self.report?[key] { members.append(JSONMember(key, value)) }
        }
        if let error { members.append(JSONMember("error", .string(error))) }
        return .object(members)
    }
}
