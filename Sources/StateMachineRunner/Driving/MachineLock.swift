import StateMachineCore
import StateMachineProtocol
import SystemPackage

/// Keeps every other runner from this machine's commands, wherever that remembers what it has run: both would run them.
struct MachineLock {
    private let directory: RuntimeDirectory
    private var lock: LockFile?

    init(_ directory: RuntimeDirectory) { self.directory = directory }

    /// Takes it beside the daemon's doors, unless this process has it; as long as there is no daemon there is nothing
    /// to be taken.
    ///
    /// - Returns: what keeps it from being taken, where that need not keep the runner from its work; nil if all is well.
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
