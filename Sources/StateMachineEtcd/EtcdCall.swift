#if Cluster
/// One request and its one answer.
///
/// A value that decides and does nothing; whoever has it ends the stream when there is an outcome.
package struct EtcdCall<Answer: EtcdMessage> {
    package enum Event {
        case came(GRPCAnswer.Meaning)
        /// It had that long.
        case deadline(Duration)
    }

    private enum State {
        case waiting
        case answered(Answer)
        case over
    }

    private var state = State.waiting

    package init() {}

    /// What has become of it; nil if that is still open, or was said before.
    package mutating func thisHappened(_ event: Event) -> Outcome<Answer>? {
        switch (event, self.state) {
        case (_, .over): return nil
        case (.came(.message(let bytes)), .waiting):
            do {
                self.state = .answered(try Answer(bytes[...]))
                return nil
            } catch {
                return self.end(.unknown(.malformed(error.description)))
            }
        case (.came(.message), .answered):
            return self.end(.unknown(.malformed("it answers one call twice")))
        case (.came(.ended(.status(0, _))), .answered(let answer)):
            return self.end(.answered(answer))
        case (.came(.ended(.status(0, _))), .waiting):
            return self.end(.unknown(.malformed("it answers nothing")))
        case (.came(.ended(let end)), .waiting), (.came(.ended(let end)), .answered):
            return self.end(Outcome(of: end))
        case (.deadline(let limit), .waiting), (.deadline(let limit), .answered):
            return self.end(.unknown(.late(limit)))
        }
    }

    private mutating func end(_ outcome: Outcome<Answer>) -> Outcome<Answer> {
        self.state = .over
        return outcome
    }
}
#endif
