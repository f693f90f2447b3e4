import StateMachineCore
import StateMachineProtocol
import SystemPackage

/// Keeps other runners, wherever their records are, from running this machine's commands too.
struct MachineLock {
    private let directory: RuntimeDirectory
    private var lock: LockFile?

    init(_ directory: RuntimeDirectory) { self.directory = directory }

    /// Takes the lock beside the daemon's doors, unless this process has it; without a daemon there
    /// is nothing to take yet.
    ///
    /// - Returns: why it cannot be taken, if the runner can work all the same; nil if all is well.
    /// - Throws: `RunnerError` if another runner has it.
    mutating func take() throws(RunnerError) -> String? {
        if self.lock?.isInPlace == true { return nil }
        let path = self.directory.path
        do throws(LockFile.Failure) {
            self.lock = try LockFile(in: path)
            return nil
        } catch .system(.noSuchFileOrDirectory) {
            return nil
        } catch {
            let problem = RunnerError(
                error,
                at: LockFile.path(in: path),
                taken: "runs the commands of the machine in \(path); end that one"
            )
            guard case .system = error else { throw problem }
            return problem.description
        }
    }
}
