import Glibc

/// Why a history cannot be opened, in one sentence which names the file and says what to do.
public struct HistoryError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// The error number of the system call that failed, if one did.
    public let errno: CInt?

    /// Whether it will recur at every start until somebody changes the configuration.
    public let isLasting: Bool

    /// Whether the database holds what no program has written there.
    let isDamage: Bool

    init(_ description: String, isLasting: Bool = false) {
        self.description = description
        self.errno = nil
        self.isLasting = isLasting
        self.isDamage = false
    }

    /// What was found where no program has written it.
    init(damaged description: String) {
        self.description = description
        self.errno = nil
        self.isLasting = false
        self.isDamage = true
    }

    /// A system call that failed, with the message of its `errno`.
    init(_ what: String, errno code: CInt) {
        self.description = "\(what): \(String(cString: strerror(code)))"
        self.errno = code
        self.isLasting = false
        self.isDamage = false
    }
}
