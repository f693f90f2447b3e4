@preconcurrency import Glibc
import Processes
import StateMachineDeclaration

/// A command as it is handed to the system.
struct ChildStart: Sendable {
    /// Why it did not begin.
    struct Failure: Error {
        /// The exit status that systemd uses for it: systemd.exec(5).
        let status: Int
        /// What is wrong, if it may succeed another time.
        var trouble: String?

        static let directory = Failure(status: 200)
        static let program = Failure(status: 203)
        static let group = Failure(status: 216)
        static let user = Failure(status: 217)

        /// There is no room for it at the moment.
        static func scarcity(_ why: String) -> Failure { Failure(status: 203, trouble: why) }
    }

    private let program: ProgramStart
    /// How its processes will be recognised; their leader is not known yet.
    let session: ChildSession

    /// - Throws: ``Failure`` if there is no such user, group or program, or the file with the environment cannot be
    ///   read.
    init(_ order: CommandOrder) throws(Failure) {
        guard order.isSound, let name = order.words.first else { throw .program }
        let command = order.command
        self.session = ChildSession(command: order.name.description, grace: command.stop)
        let account = try ChildAccount.of(command)
        var variables = ["PATH": CommandOrder.path, "INVOCATION_ID": self.session.token]
        for name in ["LANG", "XDG_RUNTIME_DIR"] {
            // This user's values do not apply to another user.
            guard name == "LANG" || account == nil, let value = getenv(name) else { continue }
            variables[name] = String(cString: value)
        }
        variables.merge(account?.variables ?? ChildAccount.ownVariables()) { $1 }
        for variable in order.environment { variables[variable.name] = variable.value }
        if let path = command.environmentFile {
            guard let file = EnvironmentFile(path) else { throw .program }
            for variable in file.variables { variables[variable.name] = variable.value }
        }
        let path: [UInt8]
        let directories = Array((variables["PATH"] ?? CommandOrder.path).utf8)
        do throws(ProgramStart.Failure) {
            // What has a slash is looked for from the command's directory.
            path =
                name.contains("/")
                ? Array(name.utf8) : try ProgramStart.path(of: Array(name.utf8), in: directories)
        } catch {
            throw .program
        }
        var words = order.words
        var start = path
        if let account {
            start = Array(AccountChange.program.utf8)
            let path = String(decoding: path, as: UTF8.self)
            words =
                [AccountChange.program]
                + AccountChange.arguments(to: account, program: path, words: order.words)
            variables = AccountChange.environment(variables)
        }
        var program = ProgramStart(
            path: start,
            words: words.map { Array($0.utf8) },
            environment: variables.map { Array("\($0.key)=\($0.value)".utf8) }
        )
        program.input = order.input
        program.directory = Array(command.directory.utf8)
        program.leadsSession = true
        program.closesOthers = true
        self.program = program
    }

    /// Runs it to its end; `started` is called with its session once it runs.
    func run(started: (ChildSession) -> Void) async throws(Failure) -> RunningProgram.End {
        let process: RunningProgram
        do throws(ProgramStart.Failure) {
            process = try self.program.start()
        } catch {
            switch error {
            case .directory: throw .directory
            case .program: throw .program
            case .scarcity(let code):
                throw .scarcity("cannot create a process: \(String(cString: strerror(code)))")
            }
        }
        // Nobody has waited for it yet, so that its number is its own.
        started(self.session.led(by: process.pid))
        return await process.end()
    }
}

/// The account that a command is run as.
struct ChildAccount: Hashable, Sendable {
    private(set) var user: uid_t?
    private(set) var group: gid_t?
    private(set) var groups: [gid_t]?
    /// HOME and the like, as systemd sets them for a service with `User=`.
    private(set) var variables: [String: String] = [:]

    /// The most groups of one user.
    ///
    /// 65,536: the kernel's limit, by setgroups(2).
    private static let mostGroups = 65_536

    /// The account that a command names; nil if it names none.
    static func of(_ command: DeclaredCommand) throws(ChildStart.Failure) -> ChildAccount? {
        guard command.user != nil || command.group != nil else { return nil }
        var account = ChildAccount()
        if let name = command.user {
            guard let user = ChildAccount(of: name) else { throw .user }
            account = user
        }
        if let name = command.group {
            guard let group = AccountGroup(named: name)?.gid ?? gid_t(name) else { throw .group }
            account.group = group
        }
        return account
    }

    /// The variables of this process's account, if it is not root's.
    static func ownVariables() -> [String: String] {
        geteuid() == 0 ? [:] : Account(of: geteuid()).map { ChildAccount($0).variables } ?? [:]
    }

    private init() {}

    /// Looks a user up by name, else by number; nil if there is none.
    private init?(of name: String) {
        guard let entry = Account(named: name) ?? uid_t(name).flatMap({ Account(of: $0) }) else {
            return nil
        }
        self.init(entry)
    }

    private init(_ entry: Account) {
        self.user = entry.uid
        self.group = entry.gid
        self.groups = Self.groups(of: entry)
        self.variables = [
            "HOME": entry.home, "USER": entry.name, "LOGNAME": entry.name, "SHELL": entry.shell,
        ]
    }

    private static func groups(of entry: Account) -> [gid_t] {
        var count: CInt = 64
        var groups = [gid_t](repeating: 0, count: Int(count))
        while getgrouplist(entry.name, entry.gid, &groups, &count) < 0 {
            guard Int(count) > groups.count, Int(count) <= Self.mostGroups else { break }
            groups = [gid_t](repeating: 0, count: Int(count))
        }
        return Array(groups.prefix(Int(count)))
    }
}

/// Changes the account of a process by executing this program again before the command.
///
/// A child of a process with several threads must not change its user before its `exec`: glibc's
/// setgroups(3) signals all threads, and waits for ever for one that the parent was just creating.
/// So the child executes this program, which has one thread, changes the account and executes the
/// command.
///
/// The command's environment passes through it under other names: `LD_PRELOAD` and the like must
/// not reach the loader of a program that is still root.
package enum AccountChange {
    /// The first argument.
    ///
    /// `UID:GID:GROUP,…` is the second, followed by the program's path and its arguments from the
    /// zeroth on. What is empty is left unchanged.
    private static let word = "--exec-as"
    /// The prefix of the names of the command's variables.
    private static let prefix = "exec:"

    /// The path by which this program executes itself.
    static let program = "/proc/self/exe"

    /// The arguments that this program gets.
    static func arguments(to account: ChildAccount, program: String, words: [String]) -> [String] {
        let user = account.user.map { "\($0)" } ?? ""
        let group = account.group.map { "\($0)" } ?? ""
        let groups = account.groups.map { $0.map { "\($0)" }.joined(separator: ",") } ?? ""
        return [self.word, "\(user):\(group):\(groups)", program] + words
    }

    static func environment(_ variables: [String: String]) -> [String: String] {
        var environment: [String: String] = [:]
        for (name, value) in variables { environment[self.prefix + name] = value }
        // The command's processes are recognised by this variable from the start.
        environment["INVOCATION_ID"] = variables["INVOCATION_ID"]
        return environment
    }

    /// Becomes the command, and does not return, if this process was started for that.
    ///
    /// To be called before there is a second thread. Exits with 217 if the user cannot be set, 216
    /// if the group cannot, and 203 if the program cannot be executed, as in systemd.exec(5).
    package static func performIfAsked() {
        let arguments = CommandLine.unsafeArgv
        guard CommandLine.argc > 4, let first = arguments[1], strcmp(first, self.word) == 0,
            let wanted = arguments[2], let path = arguments[3]
        else { return }
        let numbers = String(cString: wanted)
            .split(separator: ":", omittingEmptySubsequences: false)
        guard numbers.count == 3 else { return }
        let (user, group) = (uid_t(numbers[0]), gid_t(numbers[1]))
        let groups = numbers[2].split(separator: ",").compactMap { gid_t($0) }
        let refused = user == nil ? ChildStart.Failure.group : .user
        // The user comes last: a process that is no longer root may not change the rest.
        if user != nil, setgroups(groups.count, groups) != 0 { _exit(CInt(refused.status)) }
        if let group, setgid(group) != 0 { _exit(CInt(refused.status)) }
        if let user, setuid(user) != 0 { _exit(CInt(refused.status)) }
        var variables = self.variables()
        execve(path, arguments + 4, &variables)
        _exit(CInt(ChildStart.Failure.program.status))
    }

    /// The command's variables, from this process's, terminated by nil.
    private static func variables() -> [UnsafeMutablePointer<CChar>?] {
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let variable = next.pointee {
            if strncmp(variable, self.prefix, self.prefix.utf8.count) == 0 {
                variables.append(variable + self.prefix.utf8.count)
            }
            next += 1
        }
        return variables + [nil]
    }
}
