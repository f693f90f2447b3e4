import CPlatform

/// The processors that the process may run on.
package enum Processors {
    /// Whether there are several, as seen by the first thread that asks; a CPU time quota does not
    /// count.
    ///
    /// True where that cannot be determined.
    package static let areSeveral = platform_processors() != 1
}
