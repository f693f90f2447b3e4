import StateMachineYAML
import TestSupport

/// What a YAML file consists of: texts, lists, and maps in their order.
indirect enum ModelNode {
    case scalar(String)
    case sequence([ModelNode])
    case map([(key: String, value: ModelNode)])

    init(yaml text: String) throws {
        let events = YAMLEvents(Array(text.utf8))
        guard case .document = try events.next().event else { throw TestFailure("no YAML") }
        guard let node = try Self(events) else { throw TestFailure("nothing is declared") }
        self = node
    }

    /// Nil at the end of what encloses it.
    private init?(_ events: YAMLEvents) throws {
        switch try events.next().event {
        case .scalar(let text, _, _): self = .scalar(text)
        case .sequence:
            var elements: [ModelNode] = []
            while let element = try Self(events) { elements.append(element) }
            self = .sequence(elements)
        case .mapping:
            var entries: [(key: String, value: ModelNode)] = []
            while let key = try Self(events) {
                guard let value = try Self(events) else { throw TestFailure("a key alone") }
                entries.append((key.text, value))
            }
            self = .map(entries)
        case .end, .document, .over: return nil
        case .alias: throw TestFailure("an alias")
        }
    }

    var mapping: [(key: String, value: ModelNode)]? {
        guard case .map(let entries) = self else { return nil }
        return entries
    }

    var text: String {
        guard case .scalar(let text) = self else { return "" }
        return text
    }

    var words: [String] {
        guard case .sequence(let elements) = self else { return [] }
        return elements.map(\.text)
    }

    var texts: [String: ModelNode] {
        (self.mapping ?? []).reduce(into: [:]) { texts, entry in texts[entry.key] = entry.value }
    }

    subscript(key: String) -> ModelNode? { self.mapping?.first { $0.key == key }?.value }
}
