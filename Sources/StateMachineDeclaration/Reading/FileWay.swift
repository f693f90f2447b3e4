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
        var place = try Place(isAbsolute ? "/" : ".", at: isAbsolute ? "/" : Self.workingDirectory)
        defer { place.close() }
        if !isAbsolute { try self.judgeAll(above: place) }
        var rest = Self.parts(of: path)
        guard !path.isEmpty else { throw Errno.noSuchFileOrDirectory }
        var links = 0
        while let name = rest.popLast() {
            if name == ".." {
                place.become(try Place(name, in: place))
                continue
            }
            let next = try Place(name, in: place)
            self.judge(next, in: place)
            switch next.status.st_mode & S_IFMT {
            case S_IFDIR: place.become(next)
            case S_IFLNK:
                defer { next.close() }
                links += 1
                guard links <= Self.mostLinks else { throw Errno.tooManySymbolicLinkLevels }
                if rest.isEmpty, place.isOfProcesses {
                    // It leads to an open file, whose path is anybody's guess.
                    self.note("\(next.path) cannot be followed", "name the file itself")
                    return try self.openFile(name, in: place, isFollowing: true)
                }
                let target = try next.target()
                if target.hasPrefix("/") { place.become(try Place("/", at: "/")) }
                rest += Self.parts(of: target)
            default:
                defer { next.close() }
                guard rest.isEmpty else { throw Errno.notDirectory }
                // Before it is opened: opening a device may do something.
                try Self.checkKind(next.status)
                return try self.openFile(name, in: place, isFollowing: false)
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
        in place: Place,
        isFollowing: Bool
    ) throws -> FileDescriptor {
        // Non-blocking, in case something else has taken its place by now.
        let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (isFollowing ? 0 : O_NOFOLLOW)
        let file = openat(place.descriptor, name, flags)
        guard file >= 0 else { throw Errno(rawValue: errno) }
        do {
            let opened = try Place(file, at: place.path(of: name))
            try Self.checkKind(opened.status)
            // It may be another one than was seen before.
            self.judge(opened, in: place)
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
    private mutating func judgeAll(above place: Place) throws {
        var place = place
        var isFirst = true
        defer { if !isFirst { place.close() } }
        while true {
            let parent = try Place("..", in: place)
            guard !parent.isSame(as: place) else { return parent.close() }
            self.judge(place, in: parent)
            if !isFirst { place.close() }
            (place, isFirst) = (parent, false)
        }
    }

    /// Judges what was found in a directory by who may change what is found there.
    private mutating func judge(_ entry: Place, in directory: Place) {
        self.judgeOwner(of: directory)
        guard directory.isWritableByOthers else { return }
        if directory.status.st_mode & S_ISVTX != 0 {
            // Only its owner, the directory's and root can remove or replace it: unlink(2).
            guard !entry.isTrusted else { return }
            return self.note(
                "everybody may write to \(directory.path), and \(entry.path) belongs to \(entry.owner)",
                "chown it to \(Place.trusted)"
            )
        }
        self.judge(directory)
    }

    private mutating func judge(_ place: Place) {
        self.judgeOwner(of: place)
        guard place.isWritableByOthers else { return }
        self.note(
            "other users may write to \(place.path)",
            "chmod \(place.whoElse)-w \(place.path)"
        )
    }

    private mutating func judgeOwner(of place: Place) {
        guard !place.isTrusted else { return }
        self.note(
            "\(place.path) belongs to \(place.owner)",
            "chown it to \(Place.trusted), or put the file elsewhere"
        )
    }
}

/// Something on the way: opened, so that it stays the same one, but not for reading.
private struct Place {
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
    init(_ name: String, in place: Place) throws(Errno) {
        try self.init(name, from: place.descriptor, place.path(of: name))
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
    mutating func become(_ other: Place) {
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

    func isSame(as other: Place) -> Bool {
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
