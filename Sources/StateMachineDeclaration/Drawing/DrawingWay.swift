/// A way from one state to another, by their names.
package struct DrawingWay: Hashable, Sendable {
    package let from: String
    package let to: String

    package init(from: String, to: String) {
        (self.from, self.to) = (from, to)
    }
}
