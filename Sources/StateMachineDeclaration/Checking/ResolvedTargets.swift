/// Resolved targets, shared by the states of a group.
///
/// Where a target's fields come from depends on the fields of the state that is left, and most
/// states of a group have the same fields. A class, as it is filled while targets are resolved; it
/// is not used outside one reading.
final class ResolvedTargets {
    private struct Key: Hashable {
        let position: FilePosition
        let event: Int?
        let leftFields: Int?
    }

    /// For each state the first one that has the same fields.
    private let sameFields: [Int]
    private var targets: [Key: DeclaredTarget] = [:]

    init(_ states: [StateDraft]) {
        var first: [[DeclaredField]: Int] = [:]
        self.sameFields = states.enumerated().map { number, state in
            let known = first[state.fields, default: number]
            first[state.fields] = known
            return known
        }
    }

    subscript(position: FilePosition, sources: TargetResolver.Sources) -> DeclaredTarget? {
        get { self.targets[self.key(position, sources)] }
        set { self.targets[self.key(position, sources)] = newValue }
    }

    private func key(_ position: FilePosition, _ sources: TargetResolver.Sources) -> Key {
        Key(
            position: position,
            event: sources.event,
            leftFields: sources.left.map { self.sameFields[$0] }
        )
    }
}
