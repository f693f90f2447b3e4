import CPlatform

/// What the process may run on.
package enum Processors {
    /// Whether they are several, as its first thread to ask sees it; a share of their time does not count.
    ///
    /// They are taken for several where that cannot be told.
    package static let areSeveral = platform_processors() != 1
}
