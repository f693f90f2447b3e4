extension Array where Element: Sendable {
    /// What `body` makes of each, of all of them at once; in their order.
    package func concurrentlyMapped<Mapped: Sendable>(
        _ body: @escaping @Sendable (Element) async -> Mapped
    ) async -> [Mapped] {
        await withTaskGroup(of: (Int, Mapped).self) { group in
            for (index, element) in self.enumerated() {
                group.addTask { (index, await body(element)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
