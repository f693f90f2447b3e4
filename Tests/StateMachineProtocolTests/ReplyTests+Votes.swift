import StateMachineCore
import StateMachineProtocol

/// Replies to holds, guards, `history` and `stats`, and to sets that a vote denied.
extension ReplyTests {
    /// To `hold`, `guard`, `release`, `vote` and `set`.
    func voted() throws -> [[UInt8]] {
        let active = try ServerLine.Report(43, .authentication(.active))
        func denied(
            id: Int64 = 5,
            _ message: String,
            _ name: JSONMember,
            pid: Int,
            why: String,
            _ rest: [JSONMember] = []
        ) -> [UInt8] {
            let by: [JSONMember] = [
                name, JSONMember("uid", .number("1000")), JSONMember("pid", .number("\(pid)")),
                JSONMember("why", .string(why)),
            ]
            return ServerLine.refusal(
                id: .integer(id),
                WireError(.denied, "denied by \(message) (\(why))"),
                report: active,
                own: { $0.json("by", .array([.object(by + rest)])) }
            )
        }
        func refused(_ id: Int64, _ code: ErrorCode, _ message: String) -> [UInt8] {
            ServerLine.refusal(id: .integer(id), WireError(code, message))
        }
        let since = "2026-11-20T21:55:40.120007Z"
        let hold = JSONMember("hold", .number("7"))
        let voter = JSONMember("guard", .number("8"))
        let delegate = JSONMember("delegate", .string("editor"))
        return [
            ServerLine.reply(id: .integer(6), own: { $0.number("hold", 7) }),
            ServerLine.reply(
                id: .integer(6),
                own: { writer in
                    writer.number("hold", 7)
                    writer.bool("kept", false)
                }
            ),
            ServerLine.reply(id: .integer(25), own: { $0.number("hold", 10) }),
            ServerLine.reply(id: .integer(26)),
            ServerLine.reply(id: .integer(9), own: { $0.number("guard", 8) }),
            ServerLine.reply(id: .integer(8)),
            ServerLine.reply(id: .integer(21), own: { $0.number("guard", 9) }),
            ServerLine.reply(id: .integer(23)),
            denied(
                id: 22,
                "guard 9",
                JSONMember("guard", .number("9")),
                pid: 812,
                why: "required as display but not connected since \(since); "
                    + "start it, or release it by that name",
                [
                    JSONMember("required", .string("display")),
                    JSONMember("missing", .string(since)),
                ]
            ),
            denied("guard 8", voter, pid: 812, why: "unsaved work"),
            denied("hold 7", hold, pid: 813, why: "held"),
            denied("guard 8", voter, pid: 812, why: "timeout"),
            denied("editor", delegate, pid: 800, why: "unsaved work"),
            ServerLine.refusal(
                id: .integer(5),
                WireError(
                    .conflict,
                    "nothing was changed: the daemon's own program set the state while voters were asked; "
                        + "set it again if that is still wanted"
                ),
                report: active
            ),
            ServerLine.refusal(
                id: .integer(5),
                WireError(.shuttingDown, "the daemon is shutting down"),
                report: active
            ),
            refused(8, .notFound, "there is no hold or guard 7"),
            refused(
                8,
                .forbidden,
                "hold 7 belongs to user 1001; only that user and root may release it"
            ),
            refused(
                10,
                .notFound,
                "question 11 is not open: no guard of this connection was asked it, or it has ended"
            ),
            refused(10, .notFound, "question 11 has already been decided"),
            refused(
                6,
                .limit,
                "this connection already has 8 holds, the most that it may have; end one first"
            ),
            refused(
                9,
                .limit,
                "this connection already has 8 guards, the most that it may have; end one first"
            ),
            refused(
                3,
                .limit,
                "this connection already has 32 waits, the most that it may have; end one first"
            ),
        ]
    }

    /// To `history` and `stats`.
    func counted() -> [[UInt8]] {
        func summary(_ count: Int, more: Bool, _ resync: ServerLine.Resync? = nil) -> [UInt8] {
            ServerLine.reply(
                id: .integer(12),
                own: { writer in
                    writer.number("count", count)
                    writer.bool("more", more)
                },
                rest: { writer in
                    if let resync { writer.string("resync", resync.rawValue) }
                }
            )
        }
        let counters = [
            ("changes", 43), ("requests", 60), ("refusals", 2), ("accepted", 5),
            ("turnedAway", 0), ("resyncs", 1), ("bytes", 8192), ("writes", 57),
        ]
        let ways = [
            (from: "authentication", to: "ready", count: 43)
        ]
        let rows = [
            self.row(pid: 4711, door: "control", 1, 2, 1, 1, 0, 3, 1, 4096),
            self.row(pid: 4712, door: "events", 1, 0, 0, 0, 0, 0, 0, 512),
        ]
        return [
            summary(2, more: false),
            summary(1000, more: true, .evicted),
            summary(31, more: true, .lagged),
            ServerLine.reply(
                id: .integer(13),
                own: { writer in
                    writer.number("uptimeMs", 60_000)
                    writer.json("counters", .object(counters.map(self.member)))
                    writer.objects("transitions", ways) { writer, way in
                        writer.string("from", way.from)
                        writer.string("to", way.to)
                        writer.number("count", way.count)
                    }
                    writer.json("connections", .array(rows))
                    writer.number("seq", 43)
                }
            ),
        ]
    }

    private func row(pid: Int, door: String, _ counts: Int...) -> JSONValue {
        let names = [
            "watches", "waits", "holds", "guards", "sets", "lag", "resyncs", "bytes",
        ]
        return .object(
            [
                self.member("uid", 1000), self.member("pid", pid),
                JSONMember("door", .string(door)),
            ] + zip(names, counts).map(self.member)
        )
    }

    private func member(_ name: String, _ count: Int) -> JSONMember {
        JSONMember(name, .number("\(count)"))
    }
}
