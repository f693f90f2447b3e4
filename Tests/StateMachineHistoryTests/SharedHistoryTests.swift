import Glibc
import StateMachineCore
import StateMachineDeclaration
import StateMachineHistory
import StateMachineProtocol
import TestSupport
import Testing

/// What a host keeps of a machine that several share.
@Suite(.bounded) struct SharedHistoryTests {
    private static let schema = StateCoding<AppState>().schema
    private static let epoch = Epoch("0badcafe") ?? .random()
    private static let nextEpoch = Epoch("11111111") ?? .random()

    /// Opens it, runs `body`, and gives it up, so that another can open it.
    private static func run(
        in directory: String,
        of schema: Schema = Self.schema,
        boot: String? = BootID.current,
        _ body: (SharedHistory) async throws -> Void
    ) async throws {
        do {
            let history = try SharedHistory(
                directory: "\(directory)/state",
                schema: schema,
                options: HistoryOptions(),
                boot: boot
            )
            try await body(history)
            _ = await history.settled()
        }
        // Its threads may have it for a moment.
        let lock = open("\(directory)/state/statemachine.lock", O_RDONLY)
        defer { close(lock) }
        while flock(lock, LOCK_EX | LOCK_NB) != 0 { await Task.yield() }
    }

    private static func change(_ seq: UInt64, host: String? = "a") -> RecordedTransition {
        func state(_ seq: UInt64) -> RecordedTransition.State {
            RecordedTransition.State(name: "ready", data: #"{"value":\#(seq % 2 == 0)}"#)
        }
        return RecordedTransition(
            seq: seq,
            old: seq == 0 ? nil : state(seq - 1),
            new: state(seq),
            at: WallTime(microseconds: Int64(1_000_000 + seq)),
            by: Peer(uid: 7, pid: 8, comm: "door"),
            host: host
        )
    }

    private static func engine(_ revision: Int64) -> KnownEngine {
        KnownEngine(
            after: [Epoch("00000001"), Epoch("00000002")].compactMap(\.self),
            revision: revision,
            head: revision - 1,
            block: KnownEngine.Block(first: 3, digest: .max - 1)
        )
    }

    private static func position(_ seq: UInt64, in epoch: Epoch = Self.epoch) -> SharedPosition {
        SharedPosition(Self.change(seq), in: epoch, knowing: Self.engine(Int64(seq) + 10))
    }

    @Test func whoTheHostIsAndItsLeasesOutliveIt() async throws {
        try await withTemporaryDirectory { directory in
            var instance = ""
            try await Self.run(in: directory) { history in
                instance = history.instance
                #expect(history.leases == [])
                #expect(history.left == nil)
                #expect(await history.remembered([1, 0x7fff_ffff_ffff_ffff]) == nil)
            }
            try await Self.run(in: directory) { history in
                #expect(history.instance == instance)
                #expect(history.leases == [1, 0x7fff_ffff_ffff_ffff])
                history.begin(at: Self.position(4))
                #expect(await history.remembered([2, 3]) == nil)
            }
            try await Self.run(in: directory) { again in
                #expect(again.instance == instance)
                #expect(again.leases == [2, 3])
            }
        }
    }

    @Test func whatWasAddedIsWhereTheNextRunBegins() async throws {
        try await withTemporaryDirectory { directory in
            try await Self.run(in: directory) { history in
                history.begin(at: Self.position(2))
                history.append([Self.change(3), Self.change(4)], knowing: Self.engine(20), nil)
                history.append([Self.change(5)], knowing: Self.engine(21), nil)
                #expect(await history.settled() == nil)
                #expect(history.kept == 3..<6)
                #expect(history.aside == nil)
            }
            try await Self.run(in: directory) { again in
                let left = try #require(again.left)
                #expect(left.epoch == Self.epoch)
                #expect(left.newest == Self.change(5))
                #expect(left.engine == Self.engine(21))
                // Of the change that it began with it has the state alone.
                #expect(again.kept == 3..<6)
                let all = try await again.all(after: 2)
                #expect(all == (3...5).map { Self.change($0) })
            }
        }
    }

    @Test func theTimesOfTheStayAreAsTheyWereLeft() async throws {
        let file = "start: dark\nstates: {dark: {after: {1h: dark}}}"
        let schema = try #require(DeclarationReading(Array(file.utf8)).declaration).schema
        let (first, second) = (
            StayTimes(
                of: 2,
                since: WallTime(microseconds: 5_000_000),
                knowing: [KnownTime("open/1h", group: 1, value: nil)]
            ) { _ in WallTime(microseconds: 4_000_000) },
            StayTimes(
                of: 3,
                since: WallTime(microseconds: 9_000_000),
                knowing: [KnownTime("{left}", group: nil, value: .integer(7), hasPassed: true)]
            )
        )
        try await withTemporaryDirectory { directory in
            try await Self.run(in: directory, of: schema) { history in
                history.begin(
                    at: SharedPosition(
                        Self.change(2),
                        in: Self.epoch,
                        knowing: Self.engine(12),
                        first
                    )
                )
            }
            // They count by the wall clock, in whatever boot.
            try await Self.run(in: directory, of: schema, boot: "another") { again in
                #expect(again.left?.times == first)
                again.append([Self.change(3)], knowing: Self.engine(20), second)
                again.append([], knowing: Self.engine(21), nil)
            }
            try await Self.run(in: directory, of: schema) { again in
                #expect(again.left?.newest.seq == 3)
                #expect(again.left?.times == second)
                // Without a change they may become others.
                again.append([], knowing: Self.engine(22), first)
            }
            try await Self.run(in: directory, of: schema) { again in
                #expect(again.left?.times == first)
            }
        }
    }

    @Test func anotherNumberingSetsTheDatabaseAside() async throws {
        try await withTemporaryDirectory { directory in
            let files = Recorder<String>()
            try await Self.run(in: directory) { history in
                history.onSettingAside { files.record($0) }
                history.begin(at: Self.position(2))
                history.append([Self.change(3)], knowing: Self.engine(20), nil)
                _ = await history.remembered([9])
                history.begin(at: Self.position(1, in: Self.nextEpoch))
                // Nothing of the one before, from now on.
                #expect(!history.kept.contains(3))
                history.append([Self.change(2)], knowing: Self.engine(30), nil)
                #expect(await history.settled() == nil)
                #expect(history.kept == 2..<3)
                let all = try await history.all(after: 1)
                #expect(all == [Self.change(2)])
            }
            #expect(files.heard.count == 1)
            #expect(files.heard.first?.contains("/statemachine-former-") == true)
            try await Self.run(in: directory) { again in
                #expect(again.left?.epoch == Self.nextEpoch)
                #expect(again.left?.newest == Self.change(2))
                #expect(again.leases == [9])
            }
        }
    }

    @Test func aHistoryOfAMachineThatWasThisHostsAloneIsSetAside() async throws {
        try await withTemporaryDirectory { directory in
            do {
                let history = try SQLiteHistory<AppState>(directory: "\(directory)/state")
                try await history.makeMachine().change(3)
                #expect(await history.settled() == nil)
            }
            try await Self.run(in: directory) { history in
                #expect(history.left == nil)
                #expect(history.aside?.isDamaged == false)
                history.begin(at: Self.position(0))
                history.append([Self.change(1)], knowing: Self.engine(20), nil)
            }
            // And one that was shared goes on under another numbering where it is no longer.
            let alone = try SQLiteHistory<AppState>(directory: "\(directory)/state")
            #expect(alone.snapshot.seq == 1)
            #expect(alone.epoch != Self.epoch.description)
            #expect(alone.history.earlier == [Cursor(epoch: Self.epoch, seq: 1)])
        }
    }

    @Test func whatCannotBeWrittenIsAddedOnceItCan() async throws {
        try await withTemporaryDirectory { directory in
            try await Self.run(in: directory) { history in
                let troubles = Recorder<String>()
                history.onTrouble { troubles.record("\($0) \($1 == nil)") }
                history.begin(at: Self.position(2))
                #expect(await history.settled() == nil)
                let state = "\(directory)/state"
                try other(state, "ALTER TABLE change RENAME TO gone")
                history.append([Self.change(3)], knowing: Self.engine(20), nil)
                #expect(await history.settled() != nil)
                #expect(history.kept.isEmpty)
                try other(state, "ALTER TABLE gone RENAME TO change")
                history.append([Self.change(4)], knowing: Self.engine(21), nil)
                #expect(await history.settled() == nil)
                #expect(history.kept == 3..<5)
                let all = try await history.all(after: 2)
                #expect(all == [Self.change(3), Self.change(4)])
                #expect(troubles.heard == ["caching false", "caching true"])
            }
        }
    }

    @Test func behindAGapItBeginsAnew() async throws {
        try await withTemporaryDirectory { directory in
            try await Self.run(in: directory) { history in
                history.begin(at: Self.position(2))
                history.append([Self.change(3)], knowing: Self.engine(20), nil)
                // What is there already is passed over.
                history.append([Self.change(3), Self.change(4)], knowing: Self.engine(21), nil)
                #expect(await history.settled() == nil)
                #expect(history.kept == 3..<5)
                history.append([Self.change(7)], knowing: Self.engine(22), nil)
                #expect(await history.settled() == nil)
                #expect(history.kept.isEmpty)
            }
            try await Self.run(in: directory) { again in
                #expect(again.left?.newest == Self.change(7))
            }
        }
    }
}

extension SharedHistory {
    fileprivate func settled() async -> String? {
        await withCheckedContinuation { continuation in
            self.settle { continuation.resume(returning: $0) }
        }
    }

    fileprivate func remembered(_ leases: [Int64]) async -> String? {
        await withCheckedContinuation { continuation in
            self.remember(leases: leases) { continuation.resume(returning: $0) }
        }
    }

    fileprivate func all(after seq: UInt64) async throws -> [RecordedTransition] {
        try await withCheckedThrowingContinuation { continuation in
            self.read(TransitionQuery(after: seq, before: 1 << 53)) {
                continuation.resume(with: $0.map(\.transitions))
            }
        }
    }
}
