import StateMachineCore

/// Whether what an enum declares about itself agrees with its cases.
struct EnumCheck<State: EnumState> {
    /// What does not agree, one sentence each.
    let problems: [String]

    init(_ schema: StateSchema) {
        let names = Self.ofNames(schema)
        // Other problems may be consequences of these.
        self.problems = names.isEmpty ? Self.ofUpgrade(schema) + Self.ofSuccessors(schema) : names
    }

    private static func ofNames(_ schema: StateSchema) -> [String] {
        let cases = EnumCases.names(of: State.self) ?? []
        guard !schema.names.isEmpty else {
            return [
                "the cases of \(State.self) are unknown, as \"-disable-reflection-metadata\" leaves them out; give it "
                    + "an enum Name: String, CaseIterable that lists them all"
            ]
        }
        let written = schema.names.filter { Self.isCase($0) }
        let unknown = schema.names.filter { !written.contains($0) }
        // A conformance with keys of its own may write them all under other names.
        let isComplete = unknown.isEmpty && written.count == cases.count
        let missing = isComplete ? [] : cases.filter { !schema.names.contains($0) }
        return unknown.map { name in
            "\(State.Name.self) of \(State.self) lists \(name.quoted), but no case is encoded under that name"
                + NearestName.remark(on: name, among: missing)
        }
            + missing.filter { Self.isCase($0) || cases.count > schema.names.count }.map { name in
                "\(State.self) has a case \(name.quoted) that \(State.Name.self) does not list"
            }
    }

    /// Whether the enum decodes a case from that name.
    private static func isCase(_ name: String) -> Bool {
        StateProbe.isCase(name, of: State.self)
    }

    private static func ofUpgrade(_ schema: StateSchema) -> [String] {
        let known = schema.cases.flatMap { found in
            [found.name] + found.fields.map { "\(found.name).\($0.name)" }
        }
        let was = State.was
        let unknown = was.keys.sorted().filter { !known.contains($0) }
        let present = was.keys.sorted().flatMap { key in
            (was[key] ?? []).filter { schema.names.contains($0) && !key.contains(".") }
                .map { (key: key, old: $0) }
        }
        return unknown.map { name in
            "\"was\" of \(State.self) names \(name.quoted), which it does not have"
                + NearestName.remark(on: name, among: known)
        }
            + present.map { key, old in
                "\"was\" of \(State.self) says that \(key.quoted) was called \(old.quoted), which is still a state"
            }
    }

    private static func ofSuccessors(_ schema: StateSchema) -> [String] {
        let samples = schema.names.flatMap { StateProbe.probe($0, of: State.self).samples }
        var told: Set<String> = []
        return samples.flatMap { sample in
            sample.successors.map(\.rawValue).sorted()
                .filter { !schema.names.contains($0) && told.insert($0).inserted }
                .map { name in
                    "\"successors\" of \(State.self) names \(name.quoted), which is not one of its cases"
                        + NearestName.remark(on: name, among: schema.names)
                }
        }
    }
}
