import Glibc
import Processes
import StateMachineYAML
import SystemPackage

/// A configuration file as it was read: YAML, one key a line, no nesting.
struct ConfigurationFile {
    /// Every key with its description takes 3 KiB; this is room for comments.
    static let maxBytes = 1 << 16

    let entries: [Setting: Settings.Value]
    /// A sentence for each unknown key, and for each value that is missing or not a single one.
    let problems: [String]

    /// Reads the named file, or the default one if it exists.
    ///
    /// - Parameters:
    ///   - path: the named file; nil for the default one.
    ///   - front: says which file is the default, and which keys there are.
    /// - Returns: nil if no file is named and the default one does not exist.
    /// - Throws: `ConfigurationError` if it cannot be read, or is not YAML.
    static func read(
        _ path: String?,
        for front: ProgramProfile
    ) throws(ConfigurationError) -> ConfigurationFile? {
        let file = path ?? front.defaultFile
        guard !file.isEmpty else {
            throw ConfigurationError(
                "the name of the configuration file is empty; name one, or leave out --config and "
                    + Setting.fileVariable
            )
        }
        let text: String
        do {
            text = try self.text(of: FilePath(file))
        } catch let error as Errno {
            if path == nil, error == .noSuchFileOrDirectory { return nil }
            throw ConfigurationError("cannot read \(file): \(error)", errno: error.rawValue)
        } catch {
            throw ConfigurationError("cannot read \(file): \(error)")
        }
        return try ConfigurationFile(text, path: file, for: front)
    }

    private static func text(of path: FilePath) throws -> String {
        // A pipe would have the start, or a reload, wait for whoever writes into it.
        let file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .nonBlocking])
        return try file.closeAfter {
            var status = stat()
            guard fstat(file.rawValue, &status) == 0 else { throw Errno(rawValue: errno) }
            if status.st_mode & S_IFMT == S_IFDIR { throw Errno.isDirectory }
            guard [S_IFREG, S_IFCHR].contains(status.st_mode & S_IFMT) else {
                throw ConfigurationError("it is not a regular file")
            }
            let bytes = try file.bytes(atMost: Self.maxBytes + 1)
            guard bytes.count <= Self.maxBytes else {
                throw ConfigurationError("it is longer than \(Self.maxBytes) bytes")
            }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw ConfigurationError("it is not UTF-8")
            }
            return text
        }
    }

    /// Parses the text of a file.
    ///
    /// Whether values fit their settings is not checked here.
    ///
    /// - Throws: `ConfigurationError` if it is not YAML.
    init(_ text: String, path: String, for front: ProgramProfile) throws(ConfigurationError) {
        var entries: [Setting: Settings.Value] = [:]
        var problems: [String] = []
        let lines = SettingLines(path: path, events: YAMLEvents(Array(text.utf8)))
        try lines.read { number, key, value in
            let position = "\(path):\(number)"
            guard let key, let setting = front.setting(key) else {
                return problems.append("\(position): \(front.unknownKey(key ?? "?"))")
            }
            guard let value, let said = setting.row.kind.value(of: value) else {
                return problems.append(
                    "\(position): \(key) must be \(setting.row.kind.expected), but has "
                        + (value == nil ? "several values" : "no value")
                )
            }
            let origin = SettingOrigin.file(path: path, line: number)
            entries[setting] = Settings.Value(said, origin, text: value.text)
        }
        self.entries = entries
        self.problems = problems
    }
}

/// The keys and values of a file, whatever they are called.
private struct SettingLines {
    struct Scalar {
        let text: String
        /// Whether it is written without quotes.
        let isPlain: Bool
    }

    let path: String
    let events: YAMLEvents

    /// Calls `found` with the line, the key and the value of each setting; a list or a map is nil.
    ///
    /// - Throws: `ConfigurationError` if the text is not YAML, or no map.
    func read(_ found: (Int, String?, Scalar?) -> Void) throws(ConfigurationError) {
        var (event, position) = try self.next()
        guard case .document = event else { return }
        (event, position) = try self.next()
        switch event {
        // Nothing but comments.
        case .scalar(let text, _, _) where text.isEmpty: break
        case .mapping: try self.readMap(found)
        case .scalar, .sequence, .alias, .end, .document, .over:
            // What is no YAML at all is said first.
            try self.skip(event)
            throw ConfigurationError(
                "\(self.path):\(position.line): write a setting as \"key: value\""
            )
        }
        (event, position) = try self.next()
        if case .document = event {
            throw self.error(position, "a second document begins here")
        }
    }

    private func readMap(_ found: (Int, String?, Scalar?) -> Void) throws(ConfigurationError) {
        var lines: [String: Int] = [:]
        while true {
            let (key, position) = try self.next()
            if case .end = key { break }
            let name = try self.scalar(key)?.text
            let value = try self.scalar(self.next().event)
            found(position.line, name, value)
            guard let name else { continue }
            if let first = lines.updateValue(position.line, forKey: name) {
                throw ConfigurationError(
                    "\(self.path):\(position.line): \(name) is already given in line \(first); keep one"
                )
            }
        }
    }

    /// The value that begins with that event, read to its end; nil for a list or a map.
    private func scalar(_ event: YAMLEvents.Event) throws(ConfigurationError) -> Scalar? {
        if case .scalar(let text, let isPlain, _) = event {
            return Scalar(text: text, isPlain: isPlain)
        }
        try self.skip(event)
        return nil
    }

    /// Reads a list or a map that has begun to its end.
    private func skip(_ event: YAMLEvents.Event) throws(ConfigurationError) {
        var event = event
        var depth = 0
        while true {
            switch event {
            case .sequence, .mapping: depth += 1
            case .end: depth -= 1
            case .scalar, .alias, .document, .over: break
            }
            guard depth > 0 else { return }
            event = try self.next().event
        }
    }

    private func next() throws(ConfigurationError) -> (
        event: YAMLEvents.Event, position: YAMLPosition
    ) {
        do {
            return try self.events.next()
        } catch {
            throw self.error(error.position, error.problem)
        }
    }

    private func error(_ position: YAMLPosition, _ problem: String) -> ConfigurationError {
        ConfigurationError("\(self.path):\(position.line): this is not YAML: \(problem)")
    }
}

extension Setting.Kind {
    /// The value of a scalar; nil if there is none.
    fileprivate func value(of scalar: SettingLines.Scalar) -> SettingValue? {
        // A name of digits is a name.
        if case .name = self, !scalar.text.isEmpty { return .text(scalar.text) }
        return SettingValue(scalar)
    }
}

extension SettingValue {
    /// A scalar as the type that YAML 1.1 gives it (yaml.org/type); nil if there is no value.
    fileprivate init?(_ scalar: SettingLines.Scalar) {
        let text = scalar.text
        guard scalar.isPlain else {
            self = .text(text)
            return
        }
        switch text.lowercased() {
        case "", "~", "null": return nil
        case "true", "yes", "on": self = .flag(true)
        case "false", "no", "off": self = .flag(false)
        default:
            if let number = Int(text) {
                self = .number(number)
            } else if Double(text.replacing("_", with: "")) != nil {
                self = .other(text)
            } else {
                self = .text(text)
            }
        }
    }
}
