import StateMachineProtocol
import StateMachineYAML

/// Puts the pieces of a YAML text together, within limits and without recursion.
struct YAMLTree {
    /// How deep lists and maps may be nested.
    static let maxDepth = 64

    private static let tooDeep =
        "lists and maps are nested too deeply; at most \(Self.maxDepth) levels are allowed"

    /// The most values in a file.
    ///
    /// 65,536: more than 256 states with 32 fields each need, and few enough to be held in a few
    /// megabytes.
    static let maxValues = 65_536

    /// The most keys in a map.
    ///
    /// 1024: four times the number of states allowed, so that too many states are reported as such;
    /// a file of nothing but keys is not read to its end.
    private static let maxKeys = 1024

    /// The most values in a list.
    ///
    /// 4096: more than a field with listed values has.
    private static let maxElements = 4096

    /// A list or a map that has begun and not ended.
    private struct Open {
        enum Key {
            /// The next scalar is a key.
            case awaited
            case read(YAMLScalar, FilePosition)
            /// Something that cannot be a key; its value is dropped.
            case refused
        }

        let position: FilePosition
        let isMapping: Bool
        /// Whether it stands where a key should.
        let isKey: Bool
        var elements: [YAMLNode] = []
        private(set) var entries: [YAMLEntry] = []
        var key = Key.awaited
        /// The position of each key; filled once there are too many to search one by one.
        fileprivate var positions: [Spelling: FilePosition] = [:]

        var awaitsKey: Bool {
            guard self.isMapping, case .awaited = self.key else { return false }
            return true
        }

        /// The position of a key that is already there; keys are the same if their bytes are.
        func position(of key: String) -> FilePosition? { self.positions[Spelling(key)] }

        mutating func append(_ entry: YAMLEntry) {
            self.entries.append(entry)
            self.positions[Spelling(entry.key.text)] = entry.position
        }
    }

    private let problems: Problems
    private var open: [Open] = []
    private var root: YAMLNode?
    private var values = 0
    /// Whether nothing more is read.
    private var isOver = false

    /// The one document of a text; nil if there is none, or its end was not reached.
    static func read(_ bytes: [UInt8], _ problems: Problems) -> YAMLNode? {
        var tree = YAMLTree(problems)
        return tree.read(YAMLEvents(bytes))
    }

    private init(_ problems: Problems) { self.problems = problems }

    private mutating func read(_ events: YAMLEvents) -> YAMLNode? {
        var documents = 0
        while true {
            let event: Located<YAMLEvents.Event>
            do {
                let next = try events.next()
                event = Located(next.event, FilePosition(next.position))
            } catch {
                return self.problems.refuse(FilePosition(error.position), error.sentence)
            }
            switch event.value {
            case .over: return self.root
            case .document:
                documents += 1
                guard documents == 1 else {
                    return self.problems.refuse(
                        event.position,
                        "a second document begins here; put only one machine in a file"
                    )
                }
            case .scalar, .sequence, .mapping, .end, .alias:
                guard self.take(event) else { return nil }
                guard self.isOver else { continue }
                while !self.open.isEmpty { self.close() }
                return self.root
            }
        }
    }

    /// Takes the next event; returns whether reading goes on.
    private mutating func take(_ event: Located<YAMLEvents.Event>) -> Bool {
        self.values += 1
        guard self.values <= Self.maxValues, !self.problems.isFull else {
            self.problems.error(
                event.position,
                "the file has more than \(Self.maxValues) values up to here; no machine is that large"
            )
            return false
        }
        switch event.value {
        case .scalar(let text, let isPlain, let properties):
            self.refuse(properties, event.position)
            self.take(YAMLScalar(text: text, isPlain: isPlain), event.position)
        case .sequence(let properties), .mapping(let properties):
            self.refuse(properties, event.position)
            guard self.open.count < Self.maxDepth else {
                self.problems.error(event.position, Self.tooDeep)
                return false
            }
            let isMapping = if case .mapping = event.value { true } else { false }
            let isKey = self.open.last?.awaitsKey ?? false
            if isKey {
                self.problems.error(event.position, "a key must be a word, not a list or a map")
            }
            self.open.append(Open(position: event.position, isMapping: isMapping, isKey: isKey))
        case .end: self.close()
        case .alias:
            self.problems.error(event.position, "aliases are not supported; write the value itself")
            if self.open.last?.awaitsKey ?? false {
                self.setKey(.refused)
            } else {
                self.put(.scalar(YAMLScalar(text: "", isPlain: true)), event.position)
            }
        case .document, .over: break
        }
        return true
    }

    private mutating func take(_ scalar: YAMLScalar, _ position: FilePosition) {
        guard !scalar.text.hasTooManyMarks else {
            self.problems.error(
                position,
                "this text has more than \(RequestLimits.marks) combining marks in a row"
            )
            return self.take(YAMLScalar(text: "?", isPlain: scalar.isPlain), position)
        }
        guard self.open.last?.awaitsKey ?? false else { return self.put(.scalar(scalar), position) }
        if scalar.isPlain && scalar.text == "<<" {
            self.problems.error(position, "merge keys are not supported; write the keys themselves")
            return self.setKey(.refused)
        }
        let last = self.open.count - 1
        guard self.open[last].entries.count < Self.maxKeys else {
            return self.stop(position, "this map has more than \(Self.maxKeys) keys")
        }
        if let first = self.open[last].position(of: scalar.text) {
            self.problems.error(
                position,
                "\(scalar.text.quoted) is given here and in line \(first.line); keep one"
            )
            return self.setKey(.refused)
        }
        self.setKey(.read(scalar, position))
    }

    /// Stops reading here; what was read so far is still checked.
    private mutating func stop(_ position: FilePosition, _ sentence: String) {
        self.isOver = true
        self.problems.cut(position, "\(sentence) up to here; no machine has that many")
    }

    private mutating func setKey(_ key: Open.Key) { self.open[self.open.count - 1].key = key }

    private func refuse(_ properties: YAMLEvents.Properties, _ position: FilePosition) {
        if properties.hasTag {
            self.problems.error(
                position,
                "tags are not supported; remove this one, or put a text that begins with ! in quotes"
            )
        }
        if properties.hasAnchor {
            self.problems.error(position, "anchors are not supported; remove this one")
        }
    }

    private mutating func close() {
        guard let closed = self.open.popLast() else { return }
        guard !closed.isKey else { return self.setKey(.refused) }
        self.put(
            closed.isMapping ? .mapping(closed.entries) : .sequence(closed.elements),
            closed.position
        )
    }

    /// Reports a key that contains its value because a space is missing; returns whether it is one.
    private func refuseJoined(_ key: YAMLScalar, _ position: FilePosition) -> Bool {
        let parts = key.text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard key.isPlain, parts.count == 2 else { return false }
        let (name, value) = (String(Substring(parts[0])), String(Substring(parts[1])))
        self.problems.error(
            position,
            "a space is missing after the colon; write \(name.excerpt()): \(value.excerpt())"
        )
        return true
    }

    /// Puts a value where it belongs: into what is open, or at the top.
    private mutating func put(_ content: YAMLNode.Content, _ position: FilePosition) {
        let node = YAMLNode(content: content, position: position)
        guard !self.open.isEmpty else {
            self.root = node
            return
        }
        let last = self.open.count - 1
        guard self.open[last].isMapping else {
            self.open[last].elements.append(node)
            if self.open[last].elements.count > Self.maxElements, !self.isOver {
                self.stop(position, "this list has more than \(Self.maxElements) values")
            }
            return
        }
        if case .read(let key, let position) = self.open[last].key {
            if node.isEmpty, self.refuseJoined(key, position) {
                self.open[last].key = .awaited
                return
            }
            self.open[last].append(YAMLEntry(key: key, position: position, value: node))
        }
        self.open[last].key = .awaited
    }
}

extension FilePosition {
    fileprivate init(_ position: YAMLPosition) {
        self.init(line: position.line, column: position.column)
    }
}

extension YAMLEvents.SyntaxError {
    fileprivate var sentence: String {
        switch self.character {
        case "\t": return "write spaces, not a tab"
        case "@" where self.problem.hasSuffix("cannot start any token"):
            return "a text that begins with @ needs quotes; write \"@operators\""
        case "{" where self.context.contains("flow"):
            return "a text with a brace needs quotes inside [ ] and { }; write \"keep tries+={n}\""
        case _ where self.before == "}" && self.context.contains("block mapping"):
            return "a text that begins with a brace needs quotes; write \"{tries} times\""
        default: break
        }
        return "this is not YAML: \(self.problem)"
            + (self.context.isEmpty ? "" : " \(self.context)")
    }
}
