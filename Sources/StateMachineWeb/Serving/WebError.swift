/// Why the page cannot be served: a sentence that says what to do.
package struct WebError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
