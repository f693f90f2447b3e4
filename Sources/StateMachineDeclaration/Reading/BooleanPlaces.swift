/// The places of values that are declared as booleans.
///
/// A class, as it is filled wherever a boolean is read; it is not used outside one reading.
final class BooleanPlaces {
    private var places: Set<FilePosition> = []

    func note(_ node: YAMLNode) { self.places.insert(node.position) }

    /// Warns about every unquoted word that is a boolean in YAML 1.1 and text here.
    func warn(of root: YAMLNode, _ problems: Problems) {
        switch root.content {
        case .scalar(let scalar): self.warn(of: scalar, root.position, problems)
        case .sequence(let elements):
            for element in elements { self.warn(of: element, problems) }
        case .mapping(let entries):
            for entry in entries {
                self.warn(of: entry.key, entry.position, problems)
                self.warn(of: entry.value, problems)
            }
        }
    }

    private func warn(of scalar: YAMLScalar, _ position: FilePosition, _ problems: Problems) {
        guard scalar.isPlain, scalar.text.utf8.count <= 5,
            let first = scalar.text.utf8.first, Self.firstLetters.contains(first | 0x20),
            Self.words.contains(scalar.text.lowercased()), !self.places.contains(position)
        else { return }
        problems.warn(
            position,
            "YAML 1.1 tools read \(scalar.text) as a boolean; it is text here: "
                + "write \"\(scalar.text)\""
        )
    }

    private static let firstLetters = Set("yntfo".utf8)

    /// From the YAML 1.1 type repository, in lower case.
    private static let words: Set<String> = ["y", "yes", "n", "no", "true", "false", "on", "off"]
}
