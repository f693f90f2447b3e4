import Glibc
import Processes
import StateMachineCore
import StateMachineProtocol
import SystemPackage

/// Where a runner keeps what has to outlive it; one process at a time has it.
///
/// Two processes would overwrite each other's record.
package final class MemoryDirectory: Sendable {
    package let path: String
    private let lock: LockFile
    private let file: WholeFile

    /// Makes the directory, for its owner only, unless it is there, and takes the lock in it.
    ///
    /// A link stands for the directory that it leads to at the moment.
    package init(_ named: String) throws(RunnerError) {
        do throws(PrivateDirectory.Fault) {
            let own = ["runner.lock", "runner-record.json", "runner-children.json"]
            try PrivateDirectory.prepare(named, own: own)
        } catch {
            switch error {
            case .cannot(let what, let code):
                throw RunnerError(cannot: what, Errno(rawValue: code))
            case .unfit(let sentence): throw RunnerError(sentence, exitStatus: EX_CONFIG)
            }
        }
        guard let resolved = realpath(named, nil) else {
            throw RunnerError(
                cannot: "examine the state directory \(named)",
                Errno(rawValue: errno)
            )
        }
        defer { free(resolved) }
        let path = String(cString: resolved)
        self.path = path
        do throws(LockFile.Failure) {
            self.lock = try LockFile(at: .runnerLock(in: path))
        } catch {
            throw RunnerError(
                error,
                at: .runnerLock(in: path),
                taken: "uses \(path); stop that one, or give another --state-directory"
            )
        }
        self.file = WholeFile("runner-record.json", in: path)
    }

    /// The record that an earlier runner of that machine left.
    ///
    /// - Returns: nil if there is no file; what ``Record/read(_:of:)`` says of it else.
    /// - Throws: `RunnerError` if it cannot be read.
    func record(of label: MachineLabel) throws(RunnerError) -> (record: Record?, damage: [String])?
    {
        try self.file.json().map { Record.read($0, of: label) }
    }

    /// Puts a record on the disk.
    func write(_ text: String) throws(RunnerError) { try self.file.keep(text, isDurable: true) }
}

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
            self.lock = try LockFile(at: .runnerLock(in: path))
            return nil
        } catch .system(ENOENT) {
            return nil
        } catch {
            let problem = RunnerError(
                error,
                at: .runnerLock(in: path),
                taken: "runs the commands of the machine in \(path); stop that one"
            )
            guard case .system = error else { throw problem }
            return problem.description
        }
    }
}

extension String {
    fileprivate static func runnerLock(in directory: String) -> String {
        "\(directory)/runner.lock"
    }
}

extension RunnerError {
    /// For a lock that cannot be had; `taken` says what another runner does with it, and a remedy.
    fileprivate init(_ failure: LockFile.Failure, at path: String, taken: String) {
        switch failure {
        case .taken(let owner): self.init("another statemachine-runner\(owner) \(taken)")
        case .obstructed:
            self.init(
                "\(path) is in the way: it is not a lock file of this user; remove it",
                exitStatus: EX_CONFIG
            )
        case .system(let errno): self.init(cannot: "lock \(path)", Errno(rawValue: errno))
        }
    }
}
