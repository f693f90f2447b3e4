import CPlatform
import Glibc
import Processes
import SystemPackage

/// Opens a file by its path, and notes who could have led it elsewhere.
///
/// What is judged is what is opened: each directory, link and file on the way is looked at by its
/// descriptor, and the next one is looked up in that. A path that is resolved a second time may lead
/// to something else by then.
struct FileWay {
    /// Somebody else could have put another file in the place of the one that was opened.
    struct Exposure: Hashable, Sendable {
        /// What is wrong, with its path.
        let fact: String
        /// What mends it.
        let remedy: String
    }

    /// What there is instead of a file.
    struct NoFile: Error {
        let kind: String
    }

    /// Links that are followed, as many as the kernel does: path_resolution(7).
    private static let mostLinks = 40

    /// The first one on the way; nil if only root and this user could.
    private(set) var exposure: Exposure?

    /// Opens the file for reading.
    ///
    /// - Throws: `Errno`, or `NoFile` if it is no file.
    mutating func open(_ path: String) throws -> FileDescriptor {
        let isAbsolute = path.hasPrefix("/")
        var step = try PathStep(
            isAbsolute ? "/" : ".",
            at: isAbsolute ? "/" : Self.workingDirectory
        )
        defer { step.close() }
        if !isAbsolute { try self.judgeAll(above: step) }
        var rest = Self.parts(of: path)
        guard !path.isEmpty else { throw Errno.noSuchFileOrDirectory }
        var links = 0
        while let name = rest.popLast() {
            if name == ".." {
                step.become(try PathStep(name, in: step))
                continue
            }
            let next = try PathStep(name, in: step)
            self.judge(next, in: step)
            switch next.status.st_mode & S_IFMT {
            case S_IFDIR: step.become(next)
            case S_IFLNK:
                defer { next.close() }
                links += 1
                guard links <= Self.mostLinks else { throw Errno.tooManySymbolicLinkLevels }
                if rest.isEmpty, step.isOfProcesses {
                    // It leads to an open file, whose path is anybody's guess.
                    self.note("\(next.path) cannot be followed", "name the file itself")
                    return try self.openFile(name, in: step, isFollowing: true)
                }
                let target = try next.target()
                if target.hasPrefix("/") { step.become(try PathStep("/", at: "/")) }
                rest += Self.parts(of: target)
            default:
                defer { next.close() }
                guard rest.isEmpty else { throw Errno.notDirectory }
                // Before it is opened: opening a device may do something.
                try Self.checkKind(next.status)
                return try self.openFile(name, in: step, isFollowing: false)
            }
        }
        throw NoFile(kind: "a directory")
    }

    /// The parts of a path, last first.
    private static func parts(of path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.reversed().map { String($0) }
    }

    /// For messages.
    private static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "." }
        defer { free(path) }
        return String(cString: path)
    }

    private mutating func openFile(
        _ name: String,
        in step: PathStep,
        isFollowing: Bool
    ) throws -> FileDescriptor {
        // Non-blocking, in case something else has taken its place by now.
        let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (isFollowing ? 0 : O_NOFOLLOW)
        let file = openat(step.descriptor, name, flags)
        guard file >= 0 else { throw Errno(rawValue: errno) }
        do {
            let opened = try PathStep(file, at: step.path(of: name))
            try Self.checkKind(opened.status)
            // It may be another one than was seen before.
            self.judge(opened, in: step)
            self.judge(opened)
            return FileDescriptor(rawValue: file)
        } catch {
            close(file)
            throw error
        }
    }

    private static func checkKind(_ status: stat) throws(NoFile) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw NoFile(kind: "a directory")
        case S_IFIFO: throw NoFile(kind: "a FIFO")
        case S_IFSOCK: throw NoFile(kind: "a socket")
        case S_IFCHR, S_IFBLK: throw NoFile(kind: "a device")
        default: throw NoFile(kind: "something else")
        }
    }

    // MARK: - Judging

    private mutating func note(_ fact: String, _ remedy: String) {
        if self.exposure == nil { self.exposure = Exposure(fact: fact, remedy: remedy) }
    }

    /// Judges all directories from the root to that one.
    private mutating func judgeAll(above step: PathStep) throws {
        var step = step
        var isFirst = true
        defer { if !isFirst { step.close() } }
        while true {
            let parent = try PathStep("..", in: step)
            guard !parent.isSame(as: step) else { return parent.close() }
            self.judge(step, in: parent)
            if !isFirst { step.close() }
            (step, isFirst) = (parent, false)
        }
    }

    /// Judges what was found in a directory by who may change what is found there.
    private mutating func judge(_ entry: PathStep, in directory: PathStep) {
        self.judgeOwner(of: directory)
        guard directory.isWritableByOthers else { return }
        if directory.status.st_mode & S_ISVTX != 0 {
            // Only its owner, the directory's and root can remove or replace it: unlink(2).
            guard !entry.isTrusted else { return }
            return self.note(
                "everybody may write to \(directory.path), and \(entry.path) belongs to \(entry.owner)",
                "chown it to \(PathStep.trusted)"
            )
        }
        self.judge(directory)
    }

    private mutating func judge(_ step: PathStep) {
        self.judgeOwner(of: step)
        guard step.isWritableByOthers else { return }
        self.note(
            "other users may write to \(step.path)",
            "chmod \(step.whoElse)-w \(step.path)"
        )
    }

    private mutating func judgeOwner(of step: PathStep) {
        guard !step.isTrusted else { return }
        self.note(
            "\(step.path) belongs to \(step.owner)",
            "chown it to \(PathStep.trusted), or put the file elsewhere"
        )
    }
}

/// Something on the way: opened, so that it stays the same one, but not for reading.
private struct PathStep {
    private(set) var descriptor: CInt
    private(set) var path: String
    private(set) var status = stat()

    init(_ descriptor: CInt, at path: String) throws(Errno) {
        self.descriptor = descriptor
        self.path = path
        guard fstat(descriptor, &self.status) == 0 else { throw Errno(rawValue: errno) }
    }

    init(_ name: String, at path: String) throws(Errno) {
        try self.init(name, from: AT_FDCWD, path)
    }

    /// What has that name there, which may be a link.
    init(_ name: String, in step: PathStep) throws(Errno) {
        try self.init(name, from: step.descriptor, step.path(of: name))
    }

    private init(_ name: String, from directory: CInt, _ path: String) throws(Errno) {
        let descriptor = openat(directory, name, platform_path_only() | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        do throws(Errno) {
            try self.init(descriptor, at: path)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    func close() { Glibc.close(self.descriptor) }

    /// Is another one from now on.
    mutating func become(_ other: PathStep) {
        self.close()
        self = other
    }

    /// The path of what has that name in it.
    func path(of name: String) -> String {
        switch name {
        case "..": FilePath(self.path).removingLastComponent().string
        default: self.path == "/" ? "/\(name)" : "\(self.path)/\(name)"
        }
    }

    func isSame(as other: PathStep) -> Bool {
        self.status.st_dev == other.status.st_dev && self.status.st_ino == other.status.st_ino
    }

    /// Whether it is in proc(5), where some links lead to open files and not along their text.
    var isOfProcesses: Bool {
        var own = stat()
        return stat("/proc/self", &own) == 0 && own.st_dev == self.status.st_dev
    }

    /// Where a link leads.
    func target() throws(Errno) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlinkat(self.descriptor, "", &buffer, buffer.count)
        guard count >= 0 else { throw Errno(rawValue: errno) }
        guard count > 0, let text = String(validating: buffer[..<count], as: UTF8.self) else {
            throw .noSuchFileOrDirectory
        }
        return text
    }

    // MARK: - Whose it is

    /// Whether it belongs to root or to this user.
    var isTrusted: Bool { self.status.st_uid == 0 || self.status.st_uid == geteuid() }

    /// Those, for messages.
    static var trusted: String { geteuid() == 0 ? "root" : "root or to uid \(geteuid())" }

    var owner: String { "uid \(self.status.st_uid)" }

    /// Whether others than its owner may write it.
    var isWritableByOthers: Bool { !self.whoElse.isEmpty }

    /// Who may write it besides its owner, as chmod(1) calls them.
    var whoElse: String { OtherWriters.of(self.descriptor) }
}
