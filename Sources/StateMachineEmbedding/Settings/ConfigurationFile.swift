import SystemPackage
import Yams

/// A configuration file as it was read: YAML, one key a line, no nesting.
struct ConfigurationFile {
    /// Every key with its description takes 3 KiB; this is room for comments.
    static let maxBytes = 1 << 16

    struct Entry {
        let value: SettingValue
        /// The value as it is written.
        let text: String
        let line: Int
    }

    let path: String
    let entries: [Setting: Entry]
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
        let text: String
        do {
            text = try self.text(of: FilePath(file))
        } catch let error as Errno {
            if path == nil, error == .noSuchFileOrDirectory { return nil }
            throw ConfigurationError(
                "cannot read \(file): \(error)",
                errno: error.rawValue
            )
        } catch {
            throw ConfigurationError("cannot read \(file): \(error)")
        }
        return try ConfigurationFile(text, path: file, for: front)
    }

    private static func text(of path: FilePath) throws -> String {
        let file = try FileDescriptor.open(path, .readOnly, options: .closeOnExec)
        return try file.closeAfter {
            var bytes: [UInt8] = []
            var isAtEnd = false
            while !isAtEnd, bytes.count <= Self.maxBytes {
                let room = Self.maxBytes + 1 - bytes.count
                let more = try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                    count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
                isAtEnd = more.isEmpty
                bytes += more
            }
            guard isAtEnd else {
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
        let root: Node?
        do {
            root = try Parser(yaml: text).singleRoot()
        } catch let error as YamlError {
            throw ConfigurationError("\(path)\(error.sentence)")
        } catch {
            throw ConfigurationError("\(path): \(error)")
        }
        var entries: [Setting: Entry] = [:]
        var problems: [String] = []
        switch root {
        case nil: break
        // Nothing but comments.
        case .scalar(let scalar) where scalar.string.isEmpty: break
        case .mapping(let mapping):
            for (key, value) in mapping {
                let line = key.mark?.line ?? 0
                guard let name = key.scalar?.string, let setting = front.setting(name) else {
                    let name = key.scalar?.string ?? "?"
                    problems.append("\(path):\(line): \(front.unknownKey(name))")
                    continue
                }
                guard let scalar = value.scalar, let said = value.settingValue else {
                    problems.append(
                        "\(path):\(line): \(name) must be \(setting.row.kind.expected), and has "
                            + (value.scalar == nil ? "several values" : "no value")
                    )
                    continue
                }
                entries[setting] = Entry(value: said, text: scalar.string, line: line)
            }
        case .scalar, .sequence, .alias:
            problems.append("\(path):\(root?.mark?.line ?? 1): write a setting as \"key: value\"")
        }
        self.path = path
        self.entries = entries
        self.problems = problems
    }
}

extension Node {
    /// A scalar as the type that YAML gives it; nil if there is no value.
    fileprivate var settingValue: SettingValue? {
        guard let scalar = self.scalar else { return nil }
        switch self.tag.description {
        case Tag.Name.null.rawValue: return nil
        case Tag.Name.int.rawValue:
            return Int(scalar.string).map { .number($0) } ?? .other(scalar.string)
        case Tag.Name.bool.rawValue: return Bool.construct(from: scalar).map { .flag($0) }
        case Tag.Name.float.rawValue: return .other(scalar.string)
        default: return .text(scalar.string)
        }
    }
}

extension YamlError {
    /// What is wrong and in which line, to go directly after a path.
    fileprivate var sentence: String {
        switch self {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ":\(mark.line): this is not YAML: \(problem)"
        case .duplicatedKeysInMapping(let duplicates, _):
            ": \(duplicates.sorted().joined(separator: ", ")) stands there twice; keep one"
        case .reader(let problem, _, _, _): ": this is not YAML: \(problem)"
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            ": \(self)"
        }
    }
}
