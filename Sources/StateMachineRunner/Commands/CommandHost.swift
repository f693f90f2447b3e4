/// Where commands are run: as units of systemd, or as children of this process.
///
/// Calls for one name come one after the other; calls for different names may come at once.
package protocol CommandHost: Sendable {
    /// Whether a command outlives the process that started it, and is found again by its name.
    var outlivesRunner: Bool { get }

    /// Starts a command, unless one of that name exists already, running or ended: that one counts.
    ///
    /// - Throws: `CommandHostError` if it could not be tried, and may be tried again. A missing
    ///   program or an unknown user is an end of the command, not an error.
    func start(_ order: CommandOrder) async throws(CommandHostError)

    /// Waits for the end of a command; its end is kept until it is forgotten.
    ///
    /// - Returns: nil if there is no command of that name.
    /// - Throws: `CommandHostError` if that cannot be known at the moment.
    func end(of name: CommandName) async throws(CommandHostError) -> CommandEnd?

    /// Ends a command by SIGTERM, after its time by SIGKILL; returns when nothing of it is left.
    ///
    /// Its end is kept until it is forgotten. Nothing happens if there is no command of that name.
    func stop(_ name: CommandName) async throws(CommandHostError)

    /// Forgets a command that has ended; its name may be used again.
    func forget(_ name: CommandName) async throws(CommandHostError)

    /// The commands of that machine that exist, running or ended, whoever started them.
    func known(of machine: MachineLabel) async throws(CommandHostError) -> [CommandName]
}

/// A command could not be started, stopped or asked about; says why.
package struct CommandHostError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
