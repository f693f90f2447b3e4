import StateMachineClient
import StateMachineCore

/// How long states have lasted: by the daemon's clock that nobody sets, as far as it tells, else by the wall clock.
extension Line {
    /// How long ago its change was made; zero if the wall clock has been set back.
    func age(at now: WallTime) -> Duration {
        if let age = self.age { return age }
        guard let at = self.at else { return .zero }
        return .microseconds(max(0, now.microseconds - at.microseconds))
    }

    /// When its change was made, by the wall clock as it is now.
    func moment(_ now: WallTime) -> WallTime {
        WallTime(microseconds: now.microseconds - self.age(at: now).wholeMicroseconds)
    }
}

extension Client {
    /// How long ago the change in a line was made.
    func age(of line: Line) async throws -> Duration {
        let present = try await self.accepted(.get)
        guard let newest = present.at, let at = line.at else { return .zero }
        return present.age(at: .now)
            + .microseconds(max(0, newest.microseconds - at.microseconds))
    }

    /// How long the stay has lasted that an answer to `get` shows.
    func stayAge(of present: Line) async throws -> Duration {
        if let age = present.stayAge { return age }
        let age = present.age(at: .now)
        guard let stay = present.stay, stay != present.seq, let newest = present.at else {
            return age
        }
        // It began before the daemon did, and has been updated since.
        var first: Line?
        let request = Request.history(limit: 1, order: .newest, before: .seq(stay + 1))
        _ = try await self.changes(request) { first = $0 }
        guard first?.seq == stay, let began = first?.at else { return age }
        return age + .microseconds(max(0, newest.microseconds - began.microseconds))
    }
}
