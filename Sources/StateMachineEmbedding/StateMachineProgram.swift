@_exported public import StateMachineCore
@_exported public import StateMachineHistory
@_exported public import StateMachineServer

/// A program that is a daemon for states of its own: its states, and with `@main` all there is to write.
///
/// ```swift
/// @main
/// enum Lamp: StateMachineProgram {
///     case dark
///     case bright(percent: Int)
///
///     static var initial: Lamp { .dark }
/// }
/// ```
///
/// The program takes the flags, the environment and the configuration file that `statemachine` takes, but
/// for those that say which file declares a machine; it answers `--help`, `--version` and `--check-config`, and it ends with the same
/// statuses: 64 for a command line that cannot be meant, 78 where somebody has to change how it is set up, 1 for what
/// may be otherwise at the next start. What keeps it from starting is one line.
///
/// A program that has arguments or a loop of its own makes a `StateMachineDaemon` instead.
public protocol StateMachineProgram: EnumState {
    /// What the program is called: in its help, in front of its sentences, and in its log. Its configuration file is
    /// `/etc/NAME/config.yaml`.
    ///
    /// The file that it was started from, unless the type says otherwise.
    static var programName: String { get }

    /// What it is for, in a sentence, as `--help` shows it.
    static var about: String { get }

    /// What `--version` prints: that of this package, unless the type says otherwise.
    static var version: String { get }

    /// Makes the machine that is served.
    ///
    /// - Parameters:
    ///   - snapshot: where it goes on: where the last run has left it, or the beginning.
    ///   - options: what the daemon wants; the program may choose the others, but has to leave the log.
    /// - Returns: the machine, of which nobody has been told.
    static func makeMachine(
        resuming snapshot: Snapshot<Self>,
        options: StateMachine<Self>.Options
    ) -> StateMachine<Self>

    /// Adds the program's own delegates and voters.
    ///
    /// Called once, with the machine as the last run has left it, before anybody can connect. What
    /// is added weakly, as delegates are by default, has to be kept by somebody.
    ///
    /// - Parameter machine: the one that is served; the program may go on to set and observe it.
    /// - Throws: what keeps the program from starting: a ``StateMachineServer/DaemonError`` says with which status it
    ///   ends, anything else is 1.
    @MainActor static func prepare(_ machine: StateMachine<Self>) async throws
}

extension StateMachineProgram {
    /// The name of the file that it was started from.
    public static var programName: String {
        let path = CommandLine.arguments.first ?? ""
        return path.split(separator: "/").last.map(String.init) ?? "\(Self.self)"
    }

    /// What every daemon is for.
    public static var about: String {
        "Holds the state of \(self.programName) and tells everything around it at once."
    }

    /// That of this package.
    public static var version: String { StateMachineVersion.current }

    /// A machine with just these options.
    @inlinable
    public static func makeMachine(
        resuming snapshot: Snapshot<Self>,
        options: StateMachine<Self>.Options
    ) -> StateMachine<Self> {
        StateMachine(resuming: snapshot, options: options)
    }

    /// Adds nothing.
    @MainActor public static func prepare(_ machine: StateMachine<Self>) async throws {}

    /// Runs the program until a signal ends it, and ends the process.
    ///
    /// For the main thread, before anything is opened: what `@main` calls. In a `main.swift` it stands alone, with no
    /// `await` before it.
    public static func main() { ProgramCommand<Self>.live() }
}
