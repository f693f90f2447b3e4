import Foundation
import StateMachineCore
import StateMachineHistory
import StateMachineSQLite
import TestSupport
import Testing

/// A database that exists and cannot be used: the error names it and says what to do.
@Suite(.bounded) struct UnusableTests {
    @Test(arguments: [
        "CREATE TABLE change (id INTEGER PRIMARY KEY, what TEXT); INSERT INTO change VALUES (1, 'a')",
        "CREATE TABLE change (seq INTEGER PRIMARY KEY); INSERT INTO change VALUES (1)",
        "CREATE TABLE meta (name TEXT)",
    ])
    func tablesOfAnotherProgramAreSaidToBeSuch(_ sql: String) async throws {
        try await withTemporaryDirectory { directory in
            try other(directory, sql)
            let error = try openingError(directory)
            #expect(
                error.hasPrefix("cannot use \(directory)/statemachine.sqlite: its tables are not")
            )
            #expect(error.contains("move it away"))
            // The foreign tables were not turned into a history.
            let tables = try Database("\(directory)/statemachine.sqlite")
                .all("SELECT name FROM sqlite_master") { $0.text(0) }
            #expect(!tables.contains("history"))
        }
    }

    @Test func aDirectoryInItsPlaceIsSaidToBeInTheWay() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: "\(directory)/statemachine.sqlite",
                withIntermediateDirectories: false
            )
            let error = try openingError(directory)
            #expect(error.hasPrefix("cannot use \(directory)/statemachine.sqlite: user "))
            #expect(error.contains("or move it away"))
        }
    }

    @Test(arguments: [0o000, 0o400]) func whoMayNotReadAndWriteItIsNamed(_ mode: Int) async throws {
        try await withHistory { history, first in
            try await history.makeMachine().change(1)
            #expect(await history.settled() == nil)
            let path = try leftovers(of: first)
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                try Self.give("\(path)/\(name)", mode: name.hasSuffix(".lock") ? 0o600 : mode)
            }
            try Self.give(path, mode: 0o700)
            let user = geteuid() == 0 ? Self.nobody : geteuid()
            let error = try Self.asNobody { try openingError(path) }
            #expect(error.hasPrefix("cannot use \(path)/statemachine.sqlite: user \(user) "))
            #expect(error.contains("read and write it"))
        }
    }

    /// As over NFS without a lock service.
    @Test func aLockThatTheKernelRefusesIsNotAnotherDaemons() async throws {
        try await withTemporaryDirectory { directory in
            let lock = "\(directory)/statemachine.lock"
            let error = try await blocking {
                try Self.withoutLocks { try openingError(directory) }
            }
            #expect(error == "cannot lock \(lock): \(String(cString: strerror(ENOLCK)))")
        }
    }

    private static let nobody: uid_t = 65534

    /// The system calls' numbers, macros that Swift does not see.
    #if arch(x86_64)
    private static let (setresuid, prctl, flock): (CLong, CLong, UInt64) = (117, 157, 73)
    #else
    private static let (setresuid, prctl, flock): (CLong, CLong, UInt64) = (147, 167, 32)
    #endif

    /// Runs `body` on a thread of its own, for which each `flock` fails with `ENOLCK`.
    ///
    /// It must not begin threads, which would inherit that.
    private static func withoutLocks<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result {
        let symbol = try #require(dlsym(nil, "syscall"))
        let syscall = unsafeBitCast(
            symbol,
            to: (@convention(c) (CLong, Int, Int, UnsafeRawPointer?, Int, Int) -> CLong).self
        )
        // seccomp(2): load the number; unless it is flock's, jump over the error; allow.
        let filter: [UInt64] = [
            0x20, self.flock << 32 | 1 << 24 | 0x15, (0x5_0000 | UInt64(ENOLCK)) << 32 | 0x06,
            0x7fff_0000 << 32 | 0x06,
        ]
        let (noNewPrivileges, seccomp) = (38, 22)
        let ended = DispatchSemaphore(value: 0)
        let result = Lock<Swift.Result<Result, any Error>?>(nil)
        Thread {
            let isFiltered = filter.withUnsafeBufferPointer { filter in
                let program = [UInt64(filter.count), UInt64(UInt(bitPattern: filter.baseAddress))]
                return syscall(self.prctl, noNewPrivileges, 1, nil, 0, 0) == 0
                    && syscall(self.prctl, seccomp, 2, program, 0, 0) == 0
            }
            let made = Swift.Result {
                guard isFiltered else { throw TestFailure("prctl: errno \(errno)") }
                return try body()
            }
            result.withLock { $0 = made }
            ended.signal()
        }
        .start()
        ended.wait()
        return try #require(result.withLock { $0 }).get()
    }

    /// Root may do anything to files, so only this thread runs `body` as another user.
    private static func asNobody<Result>(_ body: () throws -> Result) throws -> Result {
        guard geteuid() == 0 else { return try body() }
        // The bare system call: glibc's function changes the user of all threads.
        let symbol = try #require(dlsym(nil, "syscall"))
        let syscall = unsafeBitCast(
            symbol,
            to: (@convention(c) (CLong, Int, Int, Int) -> CLong).self
        )
        #expect(syscall(Self.setresuid, -1, Int(Self.nobody), -1) == 0)
        defer { _ = syscall(Self.setresuid, -1, 0, -1) }
        return try body()
    }

    private static func give(_ path: String, mode: Int) throws {
        var attributes: [FileAttributeKey: Any] = [.posixPermissions: mode]
        if geteuid() == 0 { attributes[.ownerAccountID] = Int(Self.nobody) }
        try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
    }
}
