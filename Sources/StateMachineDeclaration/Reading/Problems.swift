import StateMachineProtocol

/// What has been found to be wrong while one file is read.
///
/// A reference, for all that read parts of the file add to it; it never leaves the reading.
final class Problems {
    /// Errors that are told; the rest is left out, and that there is a rest is told.
    ///
    /// 1000: more than anybody reads, and a file that is no declaration at all takes no longer.
    private static let limit = 1000

    /// Errors up to which a name is compared with all that are known.
    ///
    /// 100: comparing costs the product of both lengths for each known name.
    private static let suggestionLimit = 100

    private var found: [DeclarationProblem] = []
    private var known: Set<DeclarationProblem> = []
    private var errors = 0

    /// Names of fields that some state or event has that could not be read: what else they lead to is not told.
    private var doubtful: Set<Spelling> = []

    /// Whether a part of the file was left out for its size, so that names in it are not known.
    private(set) var isCut = false

    var hasErrors: Bool { self.errors > 0 }

    /// Whether more errors would not be told.
    var isFull: Bool { self.errors >= Self.limit }

    /// In the order of their places.
    var sorted: [DeclarationProblem] {
        var sorted = self.found.enumerated()
            .sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
            .map(\.element)
        if self.isFull, let last = sorted.last {
            sorted.append(
                DeclarationProblem(
                    severity: .error,
                    position: last.position,
                    sentence: "there are more errors; mend these \(Self.limit) first"
                )
            )
        }
        return sorted
    }

    /// Adds an error, once, while there is room.
    func error(_ position: FilePosition, _ sentence: @autoclosure () -> String) {
        guard !self.isFull else { return }
        if self.add(.error, position, sentence()) { self.errors += 1 }
    }

    /// Adds an error after which a part of the file is not read.
    func cut(_ position: FilePosition, _ sentence: String) {
        self.isCut = true
        self.error(position, sentence)
    }

    /// Notes a field that cannot be read, which has been told.
    func doubt(field name: String) { self.doubtful.insert(Spelling(name)) }

    /// Whether a field of that name could not be read.
    func isDoubtful(field name: String) -> Bool { self.doubtful.contains(Spelling(name)) }

    /// Adds a warning, once.
    func warn(_ position: FilePosition, _ sentence: String) {
        _ = self.add(.warning, position, sentence)
    }

    /// What to say of a name that is not among the known ones: the nearest, or all, or nothing.
    func suggestion(for name: String, among known: some Sequence<String>) -> String {
        guard self.errors < Self.suggestionLimit else { return "" }
        var names: Set<Spelling> = []
        // What the file has twice is said where it stands.
        return NearestName.remark(
            on: name,
            among: known.filter { names.insert(Spelling($0)).inserted }
        )
    }

    private func add(
        _ severity: DeclarationProblem.Severity,
        _ position: FilePosition,
        _ sentence: String
    ) -> Bool {
        let problem = DeclarationProblem(
            severity: severity,
            position: position,
            sentence: sentence
        )
        guard self.known.insert(problem).inserted else { return false }
        self.found.append(problem)
        return true
    }
}
