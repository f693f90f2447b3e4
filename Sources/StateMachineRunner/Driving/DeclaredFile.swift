import StateMachineCore
import StateMachineDeclaration
import StateMachineProtocol

/// The file as it was last read, and what the daemon has.
struct DeclaredFile {
    private let source: DeclarationSource
    private(set) var declaration: Declaration
    /// Whether the file as last read can be used.
    private var isGood = true
    private var daemonHas: String?
    private var rereading = GrowingPause()
    private var problem: String?

    init(_ source: DeclarationSource, _ declaration: Declaration) {
        self.source = source
        self.declaration = declaration
    }

    /// Whether the file declares what the daemon has.
    var isAgreed: Bool { self.isGood && self.daemonHas == self.declaration.recorded.hash }

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
            self.isGood = declaration != nil
            self.problem = declaration == nil ? "the file that declares the machine is gone" : nil
            if let declaration { self.declaration = declaration }
        } catch {
            self.isGood = false
            self.problem = error.description
        }
        return self.problem == before ? nil : self.problem
    }
}
