import StateMachineCore
package import StateMachineProtocol

extension Declaration {
    /// Why a recorded change, perhaps made under an older file, would not happen under this one;
    /// nil if it would.
    ///
    /// Its states are carried over as the present one is at a start. A record does not tell a set
    /// from an event or an update: a client's change is fine if any of them leads that way, and the
    /// machine's own if anything does.
    package func objection(to change: RecordedTransition) -> String? {
        let new: DeclaredState
        do {
            new = try self.carried(change.new)
        } catch {
            return error.sentence
        }
        guard let recorded = change.old else { return nil }
        let old: DeclaredState
        do {
            old = try self.carried(recorded)
        } catch {
            // Reported for the change that led there.
            return nil
        }
        guard old.number != new.number, !change.isOfADeclaration else { return nil }
        let ways = self.edges(from: old.number).filter { $0.to == new.number }.map(\.kind)
        let (from, to) = (old.declared.name.quoted, new.declared.name.quoted)
        guard change.by != nil else {
            return ways.isEmpty ? "nothing leads from \(from) to \(to)" : nil
        }
        let isAllowed = ways.contains { kind in
            switch kind {
            case .set, .event: true
            case .after, .done, .exit, .failed, .interrupted, .boot: false
            }
        }
        guard !isAllowed else { return nil }
        let allowed = old.declared.successors.map { self.states[$0].name }
        return "\(to) may not be set from \(from), and no event leads there; "
            + (allowed.isEmpty
                ? "nothing may be set" : "allowed: \(allowed.joined(separator: ", "))")
    }

    private func carried(
        _ state: RecordedTransition.State
    ) throws(NotCarriedOver) -> DeclaredState {
        guard let data = JSONValue(parsing: state.data)?.members else {
            throw NotCarriedOver(
                sentence: "the data of \(state.name.quoted) is no JSON object",
                hasState: true
            )
        }
        return try self.carried(state.name, data: data, of: "the recorded state")
    }
}

extension RecordedTransition {
    /// Whether a new file caused it, which may take a machine anywhere.
    fileprivate var isOfADeclaration: Bool {
        self.by == nil && self.cause?.hasPrefix("declaration ") == true
    }
}
