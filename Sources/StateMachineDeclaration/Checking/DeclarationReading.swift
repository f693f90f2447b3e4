import StateMachineProtocol

/// What a file says, or what is wrong with it.
public struct DeclarationReading: Sendable {
    /// The machine; nil if there are errors.
    public let declaration: Declaration?
    /// All errors and warnings, in file order.
    public let problems: [DeclarationProblem]

    /// The most bytes that a file may have.
    public static let maxBytes = 262_144

    /// Reads the bytes of a file.
    ///
    /// - Parameters:
    ///   - bytes: the file's content; of a longer file, one byte more than ``maxBytes`` is enough.
    ///   - refusal: why the file may not have commands; nil if it may.
    ///   - warning: why commands in it will be refused; nil if they will not.
    ///   - isStrict: whether to warn about matters of the author's choice as well.
    ///   - accounts: what is made of the users and groups that it names.
    public init(
        _ bytes: [UInt8],
        refusingCommands refusal: String? = nil,
        warningOfCommands warning: String? = nil,
        isStrict: Bool = false,
        accounts: AccountLookup = .none
    ) {
        self.init(
            bytes,
            refusingCommands: refusal,
            warningOfCommands: warning,
            isStrict: isStrict,
            accounts: accounts,
            servedAt: []
        )
    }

    /// The same of a machine that is found at those places, to which none of its links may lead.
    init(
        _ bytes: [UInt8],
        refusingCommands refusal: String? = nil,
        warningOfCommands warning: String? = nil,
        isStrict: Bool = false,
        accounts: AccountLookup,
        servedAt places: Set<Link.Place>
    ) {
        let problems = Problems()
        self.declaration = Self.read(bytes, refusal, warning, isStrict, accounts, places, problems)
        self.problems = problems.sorted
    }

    /// Whether there are errors, or, with `strict`, warnings.
    public func isRefused(strict: Bool) -> Bool {
        self.declaration == nil || (strict && !self.problems.isEmpty)
    }

    private static func read(
        _ bytes: [UInt8],
        _ refusal: String?,
        _ warning: String?,
        _ isStrict: Bool,
        _ accounts: AccountLookup,
        _ places: Set<Link.Place>,
        _ problems: Problems
    ) -> Declaration? {
        guard bytes.count <= Self.maxBytes else {
            return problems.refuse(.start, "the file is longer than \(Self.maxBytes) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let isUTF16 = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
            return problems.refuse(
                .start,
                isUTF16 ? "the file is UTF-16; save it as UTF-8" : "the file is not UTF-8"
            )
        }
        // "---" alone begins a document with nothing in it.
        guard let root = YAMLTree.read(bytes, problems), !root.isEmpty else {
            if !problems.hasErrors { problems.error(.start, "the file is empty") }
            return nil
        }
        let reader = DraftReader(problems: problems, accounts: accounts, ownPlaces: places)
        guard let file = reader.file(root), !problems.isCut else { return nil }
        let declaration = DeclarationBuilder(file, problems).declaration(of: text)
        let hasCommands = file.states.contains { state in
            state.run != nil || !state.enter.isEmpty || !state.leave.isEmpty
        }
        if hasCommands {
            if let refusal { problems.error(.start, refusal) }
            if let warning { problems.warn(.start, warning) }
        }
        problems.booleans.warn(of: root, problems)
        if let declaration { Warnings(declaration, file, problems).tell(isStrict: isStrict) }
        return problems.hasErrors ? nil : declaration
    }
}
