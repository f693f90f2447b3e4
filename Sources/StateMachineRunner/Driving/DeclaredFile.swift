import Glibc
import StateMachineCore
package import StateMachineDeclaration
import StateMachineProtocol

/// The file as it was last read, and what the daemon has.
struct DeclaredFile {
    private let source: DeclarationSource
    private(set) var declaration: Declaration
    private var daemonHas: String?
    private var rereading = GrowingPause()
    /// Why the file as last read cannot be used; nil if it can.
    private var problem: String?

    init(_ source: DeclarationSource, _ declaration: Declaration) {
        self.source = source
        self.declaration = declaration
    }

    /// Whether the file declares what the daemon has.
    var isAgreed: Bool { self.problem == nil && self.daemonHas == self.declaration.recorded.hash }

    /// Notes the hash of the daemon's declaration; nil if no file declares its machine.
    mutating func daemonHas(_ hash: String?) {
        self.daemonHas = hash
        self.rereading.reset()
    }

    /// How long to wait before it is read again.
    mutating func pause() -> Duration { self.rereading.next() }

    /// Reads it again; returns what is wrong with it, if that differs from before.
    mutating func read() -> String? {
        let before = self.problem
        do throws(RunnerError) {
            let declaration = try self.source.declaration()
            self.problem = declaration == nil ? "the file that declares the machine is gone" : nil
            if let declaration { self.declaration = declaration }
        } catch {
            self.problem = error.description
        }
        return self.problem == before ? nil : self.problem
    }
}

/// The file that declares the machine, read as often as it may have changed.
package struct DeclarationSource: Sendable {
    private let path: String?
    private let instance: String?
    private let isRemembered: Bool

    /// - Parameters:
    ///   - path: the named file; nil for the default one.
    ///   - instance: the instance's name; nil for the unnamed one.
    ///   - isRemembered: whether what runs is recorded, as what follows an interruption needs.
    package init(path: String?, instance: String?, isRemembered: Bool) {
        self.path = path
        self.instance = instance
        self.isRemembered = isRemembered
    }

    /// What the file declares; nil if none is named and the default one does not exist.
    ///
    /// - Throws: `RunnerError` with all that is wrong with it, one problem a line.
    package func declaration() throws(RunnerError) -> Declaration? {
        let paths = DeclarationFile.defaultPaths(instance: self.instance)
        // A file that exists but cannot be read is an error.
        guard
            let path = self.path
                ?? paths.first(where: { (path: String) in access(path, F_OK) == 0 })
        else { return nil }
        let file: DeclarationFile
        do {
            file = try DeclarationFile(path: path)
        } catch {
            throw RunnerError(error.sentence, exitStatus: EX_CONFIG)
        }
        let reading = file.reading
        guard let declaration = reading.declaration else {
            let errors = reading.problems.filter { $0.severity == .error }
            throw RunnerError(
                errors.map { $0.line(in: path) }.joined(separator: "\n"),
                exitStatus: EX_CONFIG
            )
        }
        if !self.isRemembered,
            let state = declaration.states.first(where: { $0.run?.interrupted != nil })
        {
            throw RunnerError(
                "\(path): the run of \(state.name) has \"interrupted\", but nothing records that it was begun; give a "
                    + "--state-directory",
                exitStatus: EX_CONFIG
            )
        }
        for state in declaration.states where geteuid() != 0 {
            for command in state.commands where command.user != nil || command.group != nil {
                let key = command.user == nil ? "group" : "user"
                throw RunnerError(
                    "\(path): a command of \(state.name) has \"\(key)\", but only root can run commands as "
                        + "another user; leave it out",
                    exitStatus: EX_CONFIG
                )
            }
        }
        return declaration
    }
}
