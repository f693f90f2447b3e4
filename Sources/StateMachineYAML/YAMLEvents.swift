import CLibYAML

/// A place in a text, counted from 1; columns are counted in characters.
package struct YAMLPosition: Hashable, Sendable {
    package let line: Int
    package let column: Int

    fileprivate init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}

/// What a YAML text consists of, piece by piece, as libyaml's parser finds it; only the piece read
/// last is kept.
package final class YAMLEvents {
    package enum Event {
        /// A text, and whether it is written without quotes.
        case scalar(String, isPlain: Bool, Properties)
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
    package struct Properties {
        package let hasTag: Bool
        package let hasAnchor: Bool
    }

    /// The text is no YAML from here on.
    package struct SyntaxError: Error {
        package let position: YAMLPosition
        /// libyaml's message.
        package let problem: String
        /// What it was reading, in its words; empty if it does not say.
        package let context: String
        /// What stands at the position; nil if nothing does, or the place is not known.
        package let character: Unicode.Scalar?
        /// What stands before it in its line, but for spaces.
        package let before: Unicode.Scalar?
    }

    private let input: UnsafeMutableBufferPointer<UInt8>
    private let parser: UnsafeMutablePointer<yaml_parser_t>

    package init(_ bytes: [UInt8]) {
        // A byte order mark says nothing in UTF-8, and some editors write it.
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
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
    package func next() throws(SyntaxError) -> (event: Event, position: YAMLPosition) {
        while true {
            var event = yaml_event_t()
            guard yaml_parser_parse(self.parser, &event) == 1 else { throw self.syntaxError }
            defer { yaml_event_delete(&event) }
            if let piece = Self.piece(event) {
                return (piece, YAMLPosition(event.start_mark))
            }
        }
    }

    /// Nil for what carries nothing: the beginning of the text, and the ends of documents.
    private static func piece(_ event: yaml_event_t) -> Event? {
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            return .scalar(
                String(
                    decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length),
                    as: UTF8.self
                ),
                isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE,
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

    /// What stands at that position, and before it.
    private func characters(
        at position: YAMLPosition
    ) -> (there: Unicode.Scalar?, before: Unicode.Scalar?) {
        let lines = self.input.split(
            separator: UInt8(ascii: "\n"),
            maxSplits: position.line,
            omittingEmptySubsequences: false
        )
        guard lines.indices.contains(position.line - 1) else { return (nil, nil) }
        let line = String(decoding: lines[position.line - 1], as: UTF8.self).unicodeScalars
        return (
            line.dropFirst(position.column - 1).first,
            line.prefix(position.column - 1).last { $0 != " " }
        )
    }

    private var syntaxError: SyntaxError {
        let parser = self.parser.pointee
        let isUnreadable = parser.error == YAML_READER_ERROR
        let position =
            isUnreadable
            ? self.position(of: parser.problem_offset) : YAMLPosition(parser.problem_mark)
        let problem = parser.problem.map { String(cString: $0) } ?? "there is no memory left"
        let character =
            isUnreadable && parser.problem_value > 0
            ? " (U+\(String(parser.problem_value, radix: 16, uppercase: true)))" : ""
        let (there, before) = self.characters(at: position)
        return SyntaxError(
            position: position,
            problem: problem + character,
            context: parser.context.map { String(cString: $0) } ?? "",
            character: there,
            before: before
        )
    }

    /// What cannot be read has no mark, only the number of the byte before which it stands.
    private func position(of offset: Int) -> YAMLPosition {
        let before = self.input.prefix(offset)
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return YAMLPosition(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1,
            column: String(decoding: before[start...], as: UTF8.self).unicodeScalars.count + 1
        )
    }
}
