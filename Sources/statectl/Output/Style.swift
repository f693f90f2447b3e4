/// How parts of a text are highlighted.
enum Style {
    case plain
    case coloured

    /// What a part is, which decides how it looks.
    enum Role {
        case state
        case label
        case aside
        case notice
        /// What the eye looks for first.
        case lit
    }

    func text(_ text: String, as role: Role) -> String {
        switch self {
        case .plain: text
        case .coloured: "\u{1B}[\(Self.code(role))m\(text)\u{1B}[0m"
        }
    }

    /// SGR codes of ECMA-48 that are readable in every palette.
    private static func code(_ role: Role) -> String {
        switch role {
        case .state: "1;36"
        case .label: "36"
        case .aside: "2"
        case .notice: "33"
        case .lit: "1;7"
        }
    }
}
