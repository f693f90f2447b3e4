import Glibc
import StateMachineCore
import StateMachineProtocol

/// Everything a daemon does with a line that does not involve the machine, and its answer.
struct LineJudge: Sendable {
    private let coding = StateCoding<Note>()
    private let other = StateCoding<AppState>()
    private let current = Note.table(["a": 1])

    /// Returns how many bytes the answer has.
    @discardableResult
    func judge(_ line: [UInt8]) -> Int {
        do {
            guard let request = try Request.parse(line) else { return 0 }
            do {
                return try self.judge(request.call)
            } catch {
                return ServerLine.refusal(id: request.id, error).count
            }
        } catch {
            return ServerLine.refusal(id: error.id, error.error).count
        }
    }

    private func judge(_ call: Request.Call) throws(WireError) -> Int {
        do {
            _ = try self.other.schema.resolved(call)
        } catch {
            // The line may name states of another machine.
        }
        switch try self.coding.schema.resolved(call) {
        case .set(let call):
            _ = call.condition.ifState?.contains { self.coding.matches($0, self.current) }
            let state = try self.coding.state(call.state.text, data: call.data?.value)
            _ = state == self.current
            return self.coding.fragment(of: state).count
        case .watch(let call):
            _ = call.only?.contains { self.coding.matches($0, self.current) }
            return call.since.flatMap(Cursor.init)?.description.utf8.count ?? 0
        case .wait(let call):
            _ = call.until.contains { self.coding.matches($0, self.current) }
            return 0
        case .send, .update, .get, .unwatch, .hold, .release, .guard, .vote, .history, .reload,
            .describe,
            .stats, .hosts, .ping,
            .help:
            return 0
        }
    }

    /// Nanoseconds of this thread to judge the line, the best of `times` runs.
    func cost(of line: [UInt8], times: Int) -> UInt64 {
        (0..<times).map { _ in
            let start = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
            self.judge(line)
            return nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start
        }.min() ?? 0
    }

    private func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
