@preconcurrency import Glibc
import SystemPackage

/// What becomes somebody else before it becomes a command: this program once more, begun for that alone.
///
/// A process that was made of one with several threads may not ask for another user before its `exec`: glibc's
/// setgroups(3) tells all threads of it, and waits for ever for one that was being made in its parent. So the
/// child executes this program, which has one thread, and that changes the account and executes the command.
///
/// The command's environment goes through it under other names: what it says to the loader, `LD_PRELOAD` for
/// one, is not said to a program that is still root.
package enum AccountChange {
    /// The first argument.
    ///
    /// `UID:GID:GROUP,…` is the second, then come the program's path and its arguments from the zeroth on. What is empty
    /// stays as it is.
    private static let word = "--exec-as"
    /// Before the names of the command's variables.
    private static let prefix = "exec:"

    /// How this program is begun for it.
    static let program = FilePath("/proc/self/exe")

    /// What the program is told.
    static func arguments(to account: ChildAccount, program: String, words: [String]) -> [String] {
        let user = account.user.map { "\($0)" } ?? ""
        let group = account.group.map { "\($0)" } ?? ""
        let groups = account.groups.map { $0.map { "\($0)" }.joined(separator: ",") } ?? ""
        return [self.word, "\(user):\(group):\(groups)", program] + words
    }

    static func environment(_ variables: [String: String]) -> [String: String] {
        var environment: [String: String] = [:]
        for (name, value) in variables { environment[self.prefix + name] = value }
        // Its processes are known by this one from the first.
        environment["INVOCATION_ID"] = variables["INVOCATION_ID"]
        return environment
    }

    /// Does not return if this process was begun for that.
    ///
    /// To be called before there is a second thread. Ends with 217 where the user may not be taken, 216 where the
    /// group may not, 203 where the program cannot be executed, as systemd.exec(5) has it.
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
        // The user last: whoever is not root any more may not change the rest.
        if user != nil, setgroups(groups.count, groups) != 0 { _exit(CInt(refused.status)) }
        if let group, setgid(group) != 0 { _exit(CInt(refused.status)) }
        if let user, setuid(user) != 0 { _exit(CInt(refused.status)) }
        var variables = self.variables()
        execve(path, arguments + 4, &variables)
        _exit(CInt(ChildStart.Failure.program.status))
    }

    /// The command's, of this process's, with a nil at their end.
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
