/// The version of the software, written here and nowhere else.
public enum StateMachineVersion {
    /// As in CHANGELOG.md.
    public static let current = "0.1.0"
}
