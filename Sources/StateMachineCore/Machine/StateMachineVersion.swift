/// The version of the software, written here and nowhere else.
package enum StateMachineVersion {
    /// As in CHANGELOG.md.
    package static let current = "0.2.0"
}
