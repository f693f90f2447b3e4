@preconcurrency import Glibc
import SystemPackage

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
    static let program = FilePath("/proc/self/exe")

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
