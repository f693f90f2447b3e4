import StateMachineProtocol

/// Those settings of a command that are given: in a command of its own, or in the defaults.
struct CommandSettings {
    var user: String?
    var group: String?
    var timeout: Duration?
    var stop: Duration?
    var retry: Retry?
    var directory: String?
    var environment: [DeclaredCommand.Variable] = []
    var environmentFile: String?
    var properties: [UnitProperty] = []

    init() {}

    init(_ section: Section) {
        let problems = section.problems
        self.user = section["user"].flatMap { Self.account($0, "user", problems) }
        self.group = section["group"].flatMap { Self.account($0, "group", problems) }
        self.timeout = section["timeout"]?.time(of: "timeout", problems)
        self.stop = section["stop"]?.time(of: "stop", problems)
        self.retry = section.section("retry", .retry).map { Self.retry($0) }
        self.directory = section["directory"]?.path(of: "directory", problems)
        self.environment = Self.environment(section["environment"], problems)
        self.environmentFile = section["environment-file"]?
            .path(of: "environment-file", problems, mayBeMissing: true)
        let properties = section["properties"]?.entries(of: "properties", problems) ?? []
        // systemd takes yes and no for what they are.
        for entry in properties { problems.booleans.note(entry.value) }
        self.properties = properties.compactMap { UnitProperty.of($0, problems) }
    }

    /// A command with these settings; missing ones come from `others`, and a timeout that neither
    /// gives is `timeout`, nil for any time.
    func command(
        _ words: [CommandWord],
        defaults others: CommandSettings,
        timeout: Duration?
    ) -> DeclaredCommand {
        let own = Set(self.environment.map(\.name))
        let ownProperties = Set(self.properties.map(\.name))
        return DeclaredCommand(
            words: words,
            user: self.user ?? others.user,
            group: self.group ?? others.group,
            timeout: self.timeout ?? others.timeout ?? timeout,
            stop: self.stop ?? others.stop ?? .seconds(10),
            retry: self.retry ?? others.retry,
            directory: self.directory ?? others.directory ?? "/",
            environment: others.environment.filter { !own.contains($0.name) } + self.environment,
            environmentFile: self.environmentFile ?? others.environmentFile,
            properties: (others.properties.filter { !ownProperties.contains($0.name) }
                + self.properties)
        )
    }

    private static func account(_ node: YAMLNode, _ key: String, _ problems: Problems) -> String? {
        guard let text = node.text(of: key, problems) else { return nil }
        guard !text.value.isEmpty, !text.value.utf8.contains(where: { $0 <= 0x20 || $0 == 0x3A })
        else {
            return problems.refuse(
                node.position,
                "\(key.quoted) must be the name of a \(key), or its number"
            )
        }
        return text.value
    }

    private static func retry(_ section: Section) -> Retry {
        let problems = section.problems
        var retry = Retry()
        retry.times = section["times"]?.integer(of: "times", in: 1...Retry.most, problems)
        if let wait = section["wait"]?.time(of: "wait", problems) { retry.wait = wait }
        // A wait beyond the usual longest is intended.
        retry.longest = max(Retry.usualLongest, retry.wait)
        if let node = section["longest"], let given = node.time(of: "longest", problems) {
            retry.longest = given
            if given < retry.wait {
                problems.error(
                    node.position,
                    "\"longest\" is less than \"wait\"; write at least \(retry.wait.timeText)"
                )
            }
        }
        if let node = section["factor"] {
            if let number = node.text.flatMap({ Double($0) }), (1...1000).contains(number) {
                retry.factor = number
            } else {
                problems.error(node.position, "\"factor\" must be a number from 1 to 1000")
            }
        }
        return retry
    }

    private static func environment(
        _ node: YAMLNode?,
        _ problems: Problems
    ) -> [DeclaredCommand.Variable] {
        (node?.entries(of: "environment", problems) ?? []).compactMap { entry in
            let name = entry.key.text
            guard DeclaredCommand.Variable.isName(name.utf8) else {
                return problems.refuse(
                    entry.position,
                    "\(name.quoted) is not the name of a variable; write letters, digits and _"
                )
            }
            guard !name.hasPrefix("STATEMACHINE_") else {
                return problems.refuse(
                    entry.position,
                    "\(name.quoted) is set by the runner; choose another name"
                )
            }
            guard let value = entry.value.text else {
                return problems.refuse(
                    entry.value.position,
                    "\(name.quoted) must be text, not \(entry.value.kind)"
                )
            }
            return DeclaredCommand.Variable(name: name, value: value)
        }
    }
}
