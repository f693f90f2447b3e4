import Glibc
import Processes
import StateMachineCore
package import StateMachineProtocol
import SystemPackage

/// What the runner of a machine last said about itself: `runner.json` beside the daemon's doors.
package struct RunnerState {
    /// The most bytes that are read of it.
    ///
    /// 1 MiB: 256 states with a few commands each have a tenth of it.
    private static let limit = 1 << 20

    /// The whole content.
    package let json: JSONValue
    /// Whether the process that wrote it is still there.
    package let isThere: Bool

    /// Nil if there is no such file, or it is not a runner's.
    package init?(in directory: RuntimeDirectory) {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.bytes(
                of: "\(directory.path)/runner.json",
                atMost: Self.limit,
                [.noFollow, .nonBlocking]
            )
        } catch {
            // Nobody runs commands here.
            return nil
        }
        guard let json = JSONValue(parsing: String(decoding: bytes, as: UTF8.self)),
            let pid = json["pid"]?.integer.flatMap({ pid_t(exactly: $0) })
        else { return nil }
        self.json = json.withPresentTimes
        self.isThere = Self.isThere(pid, since: json["start"]?.integer)
    }

    /// How many changes, up to that reply, have hooks that have not all been run; nil if there are
    /// none, or only one that is seen to be run.
    package func waiting(_ reply: Line) -> UInt64? {
        guard let oldest = self.json["hooks"]?.integer.flatMap({ UInt64(exactly: $0) }),
            let newest = reply.seq,
            oldest < newest || self.json["running"] == nil && oldest == newest
        else { return nil }
        return newest - oldest + 1
    }

    /// Whether the process of that number is the one that began then, in ticks; where that cannot be seen, whether
    /// there is one.
    fileprivate static func isThere(_ pid: pid_t, since start: Int64?) -> Bool {
        guard kill(pid, 0) == 0 || errno == EPERM else { return false }
        // Where other users' processes are hidden, it may be one of those.
        guard let process = ProcessEntry(pid) else { return true }
        return !process.isDead && Int64(exactly: process.start) == start
    }
}

extension JSONValue {
    /// The report with the times of what runs, and of what is next, as the wall clock has them now: it may have been set
    /// since the report was written.
    fileprivate var withPresentTimes: JSONValue {
        let now = KernelClock().moment
        return .object(
            (self.members ?? []).map { member in
                switch member.key {
                case "running": JSONMember(member.key, member.value.with("since", at: now))
                case "next": JSONMember(member.key, member.value.with("at", at: now))
                // What could not be killed may have gone since.
                case "left": JSONMember(member.key, member.value.ofThere)
                default: member
                }
            }
        )
    }

    private var ofThere: JSONValue {
        .array(
            (self.elements ?? []).compactMap { left in
                let pid = left["pid"]?.integer.flatMap { pid_t(exactly: $0) }
                if let pid, !RunnerState.isThere(pid, since: left["start"]?.integer) { return nil }
                return .object((left.members ?? []).filter { $0.key != "start" })
            }
        )
    }

    private func with(_ key: String, at now: StayMoment) -> JSONValue {
        guard let uptime = self["uptime"]?.integer, let members = self.members else { return self }
        let (offset, isTooFar) = uptime.subtractingReportingOverflow(now.uptime)
        guard !isTooFar else { return self }
        let (time, isBeyond) = now.wall.microseconds.addingReportingOverflow(offset)
        guard !isBeyond else { return self }
        return .object(
            members.filter { $0.key != "uptime" }.map { member in
                let isTime = member.key == key
                return isTime
                    ? JSONMember(key, .string(WallTime(microseconds: time).rfc3339)) : member
            }
        )
    }
}
