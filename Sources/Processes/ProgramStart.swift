internal import CPlatform
internal import Dispatch
internal import Glibc
internal import SystemPackage

/// A program with all that it is given; in bytes, for names and values need not be UTF-8.
package struct ProgramStart: Sendable {
    /// Why it did not begin.
    package enum Failure: Error, Hashable {
        /// Its directory cannot be entered.
        case directory(CInt)
        /// It cannot be executed, with the error as in execve(2).
        case program(CInt)
        /// The system has no room for a process at the moment.
        case scarcity(CInt)
    }

    /// Its path; a relative one is relative to its directory.
    package var path: [UInt8]
    /// From the zeroth on, which is its name.
    package var words: [[UInt8]]
    /// Each as `NAME=value`.
    package var environment: [[UInt8]]
    /// Nil for this process's.
    package var directory: [UInt8]?
    /// What its standard input has, in memory, so that it need not read that; nil for this process's.
    package var input: [UInt8]?
    /// A descriptor that becomes its standard error; nil for this process's.
    package var errors: CInt?
    /// Whether it leads a session of its own.
    package var leadsSession = false
    /// Whether it has the standard descriptors alone.
    package var closesOthers = false

    package init(path: [UInt8], words: [[UInt8]], environment: [[UInt8]]) {
        self.path = path
        self.words = words
        self.environment = environment
    }

    /// Starts it; the caller awaits its end by ``RunningProgram/end()``.
    package func start() throws(Failure) -> RunningProgram {
        if !self.closesOthers { ProcessStart.keepOwnDescriptors() }
        var directory: CInt = -1
        if let path = self.directory {
            directory = Self.withCString(path) { platform_open_directory($0) }
            guard directory >= 0 else {
                throw Self.isScarcity(errno) ? .scarcity(errno) : .directory(errno)
            }
        }
        defer { if directory >= 0 { close(directory) } }
        let input = try self.input.map(Self.memoryFile)
        defer { if let input { close(input) } }
        var pid: pid_t = 0
        let error = Self.withCString(self.path) { path in
            Self.withCStrings(self.words) { words in
                Self.withCStrings(self.environment) { environment in
                    platform_spawn(
                        &pid,
                        path,
                        words,
                        environment,
                        directory,
                        input ?? -1,
                        self.errors ?? -1,
                        self.leadsSession ? 1 : 0,
                        self.closesOthers ? 1 : 0
                    )
                }
            }
        }
        guard error == 0 else {
            throw Self.isScarcity(error) ? .scarcity(error) : .program(error)
        }
        return RunningProgram(pid: pid)
    }

    /// A descriptor of an empty file in memory, for what a program writes.
    ///
    /// The caller closes it. Negative, with `errno`, if there is none.
    package static func memoryFile() -> CInt { platform_memory_file("output") }

    /// A descriptor of a file in memory with those bytes, at its beginning.
    static func memoryFile(of bytes: [UInt8]) throws(Failure) -> CInt {
        let file = FileDescriptor(rawValue: self.memoryFile())
        guard file.rawValue >= 0 else { throw .scarcity(errno) }
        do {
            try file.writeAll(bytes)
            try file.seek(offset: 0, from: .start)
            return file.rawValue
        } catch {
            close(file.rawValue)
            throw .scarcity((error as? Errno ?? .ioError).rawValue)
        }
    }

    /// Where a program of that name is, in the directories of a `PATH`; a name with a slash is a path itself.
    ///
    /// - Throws: ``Failure/program(_:)`` with `EACCES` if it may not be executed anywhere, with `EISDIR` if its path is
    ///   a directory's, with `ENOENT` if it is nowhere.
    package static func path(of name: [UInt8], in directories: [UInt8]) throws(Failure) -> [UInt8] {
        let isPath = name.contains(UInt8(ascii: "/"))
        let candidates =
            isPath
            ? [name]
            : directories.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
                .map { ($0.isEmpty ? [UInt8(ascii: ".")] : Array($0)) + [UInt8(ascii: "/")] + name }
        var obstacle = ENOENT
        for candidate in candidates {
            let own = Self.withCString(candidate) { path in
                var status = stat()
                guard stat(path, &status) == 0 else { return ENOENT }
                guard status.st_mode & S_IFMT != S_IFDIR else { return EISDIR }
                return access(path, X_OK) == 0 ? 0 : EACCES
            }
            if own == 0 { return candidate }
            if isPath || own == EACCES { obstacle = own }
        }
        throw .program(obstacle)
    }

    /// Whether there is too little of something that others give back.
    private static func isScarcity(_ error: CInt) -> Bool {
        [EAGAIN, ENOMEM, EMFILE, ENFILE].contains(error)
    }

    static func withCString<Result>(
        _ bytes: [UInt8],
        _ body: (UnsafePointer<CChar>) -> Result
    ) -> Result {
        (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return body("") }
            return body(start)
        }
    }

    static func withCStrings<Result>(
        _ texts: [[UInt8]],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { text in Self.withCString(text) { strdup($0) } }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}

/// A child of this process.
package struct RunningProgram: Sendable {
    /// How it ended.
    package enum End: Hashable, Sendable {
        case exited(CInt)
        case signalled(CInt)
    }

    package let pid: Int32

    /// Waits for its end, once, on a thread of its own, which costs no descriptor and no wake-up.
    package func end() async -> End {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "end of \(self.pid)").async {
                var status: CInt = 0
                while waitpid(self.pid, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: End(status))
            }
        }
    }
}

extension RunningProgram.End {
    /// From what waitpid(2) says.
    init(_ status: CInt) {
        let signal = status & 0x7f
        self = signal == 0 ? .exited(status >> 8 & 0xff) : .signalled(signal)
    }
}
