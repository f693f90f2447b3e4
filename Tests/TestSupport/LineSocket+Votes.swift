extension LineSocket {
    /// Registers a guard for the pattern, and returns its number.
    package func `guard`(_ id: String, _ pattern: String, _ rest: String) async throws -> Int {
        let reply = try await self.ask(
            #"{"op":"guard","id":"\#(id)","before":["\#(pattern)"],\#(rest)}"#
        )
        guard let number = reply.int("guard") else { throw TestFailure("no guard: \(reply)") }
        return number
    }

    /// Places a hold on the pattern, and returns its number.
    package func hold(_ pattern: String, _ rest: String) async throws -> Int {
        let reply = try await self.ask(#"{"op":"hold","before":["\#(pattern)"],\#(rest)}"#)
        guard let number = reply.int("hold") else { throw TestFailure("no hold: \(reply)") }
        return number
    }

    /// Votes on a question; returns the reply to the vote.
    package func vote(_ ask: JSONLine, _ allow: Bool, _ why: String? = nil) async throws -> JSONLine
    {
        guard let number = ask.int("ask") else { throw TestFailure("no question: \(ask)") }
        let reason = why.map { #","why":"\#($0)""# } ?? ""
        return try await self.ask(#"{"op":"vote","ask":\#(number),"allow":\#(allow)\#(reason)}"#)
    }
}
