import CYaml

/// What a YAML text consists of, piece by piece.
///
/// libyaml's own parser, which comes with Yams: Yams' composer recurses as deep as the text does,
/// resolves aliases, and gives up at a duplicate key without its second place. Here only the piece
/// read last is kept.
final class YAMLEvents {
    enum Event {
        case scalar(YAMLScalar, Properties)
        case sequence(Properties)
        case mapping(Properties)
        /// The end of a list or a map.
        case end
        case alias
        case document
        /// The end of the text.
        case over
    }

    /// What may stand before a value.
    struct Properties {
        let hasTag: Bool
        let hasAnchor: Bool
    }

    /// The text is no YAML from here on.
    struct SyntaxError: Error {
        let position: FilePosition
        let sentence: String
    }

    private let input: UnsafeMutableBufferPointer<UInt8>
    private let parser: UnsafeMutablePointer<yaml_parser_t>

    init(_ bytes: [UInt8]) {
        self.input = .allocate(capacity: bytes.count)
        _ = self.input.initialize(from: bytes)
        self.parser = .allocate(capacity: 1)
        self.parser.initialize(to: yaml_parser_t())
        // Fails only for lack of memory, and then the first event fails too.
        _ = yaml_parser_initialize(self.parser)
        yaml_parser_set_encoding(self.parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(self.parser, self.input.baseAddress, bytes.count)
    }

    deinit {
        yaml_parser_delete(self.parser)
        self.parser.deallocate()
        self.input.deallocate()
    }

    /// The next piece and where it begins.
    func next() throws(SyntaxError) -> Located<Event> {
        while true {
            var event = yaml_event_t()
            guard yaml_parser_parse(self.parser, &event) == 1 else { throw self.syntaxError }
            defer { yaml_event_delete(&event) }
            if let piece = Self.piece(event) {
                return Located(piece, FilePosition(event.start_mark))
            }
        }
    }

    /// Nil for what carries nothing: the beginning of the text, and the ends of documents.
    private static func piece(_ event: yaml_event_t) -> Event? {
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            return .scalar(
                YAMLScalar(
                    text: String(
                        decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length),
                        as: UTF8.self
                    ),
                    isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE
                ),
                Properties(hasTag: scalar.tag != nil, hasAnchor: scalar.anchor != nil)
            )
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            return .sequence(Properties(hasTag: start.tag != nil, hasAnchor: start.anchor != nil))
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            return .mapping(Properties(hasTag: start.tag != nil, hasAnchor: start.anchor != nil))
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return .end
        case YAML_ALIAS_EVENT: return .alias
        case YAML_DOCUMENT_START_EVENT: return .document
        case YAML_STREAM_END_EVENT, YAML_NO_EVENT: return .over
        default: return nil
        }
    }

    /// Whether there is a tab at that position.
    private func isTab(at position: FilePosition) -> Bool {
        let lines = self.input.split(
            separator: UInt8(ascii: "\n"),
            maxSplits: position.line,
            omittingEmptySubsequences: false
        )
        guard lines.indices.contains(position.line - 1) else { return false }
        let line = String(decoding: lines[position.line - 1], as: UTF8.self)
        return line.unicodeScalars.dropFirst(position.column - 1).first == "\t"
    }

    private var syntaxError: SyntaxError {
        let parser = self.parser.pointee
        let problem = parser.problem.map { String(cString: $0) } ?? "there is no memory left"
        // The scanner looks ahead of the pieces and has a limit of its own, far beyond ours.
        if problem.hasPrefix("Maximum nesting level") {
            return SyntaxError(position: FilePosition(parser.mark), sentence: YAMLTree.tooDeep)
        }
        let context = parser.context.map { " \(String(cString: $0))" } ?? ""
        // Unreadable input has no mark of its own; the parser stands before it.
        let mark = parser.error == YAML_READER_ERROR ? parser.mark : parser.problem_mark
        guard !self.isTab(at: FilePosition(mark)) else {
            return SyntaxError(position: FilePosition(mark), sentence: "write spaces, not a tab")
        }
        return SyntaxError(
            position: FilePosition(mark),
            sentence: "this is not YAML: \(problem)\(context)"
        )
    }
}

extension FilePosition {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}
