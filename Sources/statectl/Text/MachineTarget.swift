import StateMachineClient
import StateMachineCore

/// One of the machines that a command is about, and how its lines are shown: as they are, as text for people, or in a
/// format.
struct MachineTarget: Sendable {
    /// The command's options, as if they named that machine alone.
    let options: SharedOptions
    /// What its lines are marked with; nil where there is one machine.
    var mark: MachineMark?
    /// The format of each line; nil for the text for people.
    var format: LineFormat?
    /// The columns of the lines shown so far.
    var columns = Columns(width: StandardOutput.columns)

    /// Its client, once the format's names have been looked for among its fields.
    var client: Client {
        get async throws {
            let client = try self.options.client
            try await self.checkFormat(client)
            return client
        }
    }

    /// Reports a name in the format that the machine does not have; of several, one may have what another has not.
    func checkFormat(_ client: Client) async throws {
        if self.mark == nil { try await self.format?.check(client) }
    }

    /// Prints a line for whoever still reads.
    func print(_ line: Line, as text: (LineText) -> String) throws(OutputError) {
        try self.print(line.text, line, as: text)
    }

    /// The same of JSON that is no line, if none is given.
    func print(
        _ json: String,
        _ line: Line? = nil,
        as text: (LineText) -> String
    ) throws(OutputError) {
        do {
            try self.write(json, line, as: .state, text)
        } catch {
            guard error == .readerGone else { throw error }
        }
    }

    /// Shows a line of a watch or a history if it has anything that was asked for; with `isBack` it is the first line
    /// with the state since the daemon came back.
    func show(_ line: Line, isBack: Bool = false) throws(OutputError) {
        if self.format != nil, !self.options.json, let notice = self.text.notice(line) {
            StandardError.say(notice)
        }
        guard !self.options.json || line.isSelected || line.resync != nil || line.kind != .state
        else { return }
        let event = line.isSelected ? isBack ? .back : WatchEvent(line) : nil
        try self.write(line.text, line, as: event) { $0.event(line, in: self.columns) }
    }

    /// Shows that the daemon is gone; the state is not known then.
    func gone(_ error: ClientError) throws(OutputError) {
        if self.options.json, case .dismissed(let farewell) = error {
            try self.write(farewell.text, farewell, as: nil) { _ in nil }
        }
        guard let line = Line.gone(error) else { return }
        try self.write(line.text, line, as: .gone) { $0.gone(error) }
    }

    /// Shows that the daemon is back; the next line of a state, or of a replay's end, tells which.
    func back() throws(OutputError) {
        guard let line = Line.back else { return }
        try self.write(line.text, line, as: nil) { $0.back }
    }

    /// Shows the end of a history; `text`, for people, goes where no program reads it.
    func end(_ reply: Line, as text: String?) throws(OutputError) {
        if self.options.json || self.format == nil && StandardOutput.isTerminal {
            try self.write(reply.text, reply, as: nil) { _ in text }
        } else if let text {
            StandardError.say(text)
        }
    }

    /// The standard input of a command that is run for the line.
    func input(_ line: Line, as event: WatchEvent) -> String {
        (self.format.map { self.text(line, event, $0) } ?? self.marked(json: line.text)) + "\n"
    }

    // MARK: - Writing

    /// How text for people looks, with room for the mark.
    private var text: LineText {
        var text = self.options.text
        text.width = text.width.map { max(0, $0 - (self.mark?.columns ?? 0)) }
        return text
    }

    /// Writes what was asked for: the JSON, the line in the format for that event, or the text; nothing where that is
    /// nil.
    private func write(
        _ json: String,
        _ line: Line?,
        as event: WatchEvent?,
        _ text: (LineText) -> String?
    ) throws(OutputError) {
        if self.options.json {
            try StandardOutput.write(self.marked(json: json))
        } else if let format, let line {
            if let event { try StandardOutput.write(self.text(line, event, format)) }
        } else if let text = text(self.text) {
            try StandardOutput.write(self.mark?.marked(text: text, self.options.text) ?? text)
        }
    }

    private func marked(json: String) -> String { self.mark?.marked(json: json) ?? json }

    private func text(_ line: Line, _ event: WatchEvent, _ format: LineFormat) -> String {
        format.text(line, event: event.rawValue, instance: self.mark?.name, self.options.text)
    }
}

extension [MachineTarget] {
    /// Does the same for each machine; one of several that cannot be asked does not stop the rest.
    ///
    /// - Throws: the first error, once it has been reported.
    func each(_ body: (MachineTarget) async throws -> Void) async throws {
        var end: ExitStatus?
        for target in self {
            let own = try await target.attempt { try await body(target) }
            end = end ?? own
        }
        if let end { throw end }
    }
}

extension MachineTarget {
    /// Does something that is about this machine, which may be one of several.
    ///
    /// - Returns: how the command will end if this one of several cannot be asked, once that has been reported.
    func attempt(_ body: () async throws -> Void) async throws -> ExitStatus? {
        do {
            try await body()
            return nil
        } catch ClientError.refused(let reply) {
            try self.options.refuse(reply)
        } catch let error as ClientError {
            guard let mark else { throw error }
            StandardError.say("\(mark.name): \(error.description.printable)")
            return ExitStatus(error)
        }
    }
}

/// Distinguishes a machine's lines from those of others.
struct MachineMark: Sendable {
    /// What the instance without a name is called.
    static let unnamed = "unnamed"

    /// The instance's name, or ``unnamed``.
    let name: String
    private let instance: JSONValue
    /// Columns of the longest name.
    private let width: Int

    /// The marks of machines with these names, in their order; a nil name is the unnamed instance.
    static func all(_ names: [String?]) -> [MachineMark] {
        let shown = names.map { $0?.printable ?? Self.unnamed }
        let width = shown.map(\.count).max() ?? 0
        return zip(names, shown).map { name, shown in
            let instance = name.map { JSONValue.string($0) } ?? .null
            return MachineMark(name: shown, instance: instance, width: width)
        }
    }

    /// The instance's name as it is; empty for the unnamed one.
    var instanceName: String { self.instance.string ?? "" }

    /// Columns that it takes before a line.
    var columns: Int { self.width + 2 }

    /// Each line of a text with the name before it.
    func marked(text: String, _ style: LineText) -> String {
        let name = style.style.text(self.name.padded(to: self.width), as: .label)
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "" : "\(name)  \($0)" }
            .joined(separator: "\n")
    }

    /// A line of the protocol with a last member `instance`.
    func marked(json: String) -> String { "\(json.dropLast()),\"instance\":\(self.instance)}" }
}

/// What a line of a watch reports, and what a watch's command is run for.
enum WatchEvent: String {
    /// The state, to begin with or after changes that were missed.
    case state
    case change
    /// Nothing has happened for a while.
    case beat
    /// The state has lasted for a while.
    case stuck
    /// The daemon is gone, or is not there to begin with, and the state is not known.
    case gone
    /// The daemon is back, in that state.
    case back

    /// The event that a line reports; nil if nothing has happened.
    init?(_ line: Line) {
        switch line.kind {
        case .state: self = .state
        case .change: self = .change
        case .beat: self = .beat
        case .other where line.isStuck: self = .stuck
        case .reply, .live, .declared, .ask, .bye, .other: return nil
        }
    }
}

/// Lines of our own, in the protocol's form.
extension Line {
    init?(_ members: [JSONMember]) { self.init(Array(JSONValue.object(members).description.utf8)) }

    /// Reports that the daemon is gone: `{"type":"gone","message":…}`.
    static func gone(_ error: ClientError) -> Line? {
        Line([JSONMember("type", "gone"), JSONMember("message", .string(error.description))])
    }

    /// Reports that it is back: `{"type":"back"}`.
    static let back = Line([JSONMember("type", "back")])

    /// Reports that the state which a reply shows has lasted for long: `{"type":"stuck","seq":…}`.
    static func stuck(_ reply: Line) -> Line? {
        let others = ["type", "ok", "error", "message", "matched"]
        let shown = (reply.value.members ?? []).filter { !others.contains($0.key) }
        return Line([JSONMember("type", "stuck")] + shown)
    }

    var isStuck: Bool { self.kind == .other("stuck") }
}
