import StateMachineClient
import StateMachineCore

extension LineText {
    /// What people are told at the end of a history; nil if there is nothing to tell.
    ///
    /// - Parameters:
    ///   - reply: the daemon's last word on it.
    ///   - cursor: where the last change that was shown ends.
    /// - Returns: one line for each thing.
    func end(ofHistory reply: Line, at cursor: String?) -> String? {
        var parts: [String] = []
        if let notice = self.notice(reply) { parts.append(self.style.text(notice, as: .notice)) }
        if reply.hasMore {
            let next = cursor.map { ": statectl history --since \($0.printable)" } ?? ""
            parts.append(self.aside("— there are more\(next)"))
        }
        return parts.isEmpty ? nil : parts.joined(separator: "\n")
    }
}
