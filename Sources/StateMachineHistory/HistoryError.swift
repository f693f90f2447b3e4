/// Why a history cannot be opened, in one sentence which names the file and says what to do.
public struct HistoryError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
