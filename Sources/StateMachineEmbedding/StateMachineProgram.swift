@_exported public import StateMachineCore
@_exported public import StateMachineHistory
@_exported public import StateMachineServer

/// A program that is a daemon for its own states: they and `@main` are all there is to write.
///
/// ```swift
/// @main
/// enum Lamp: StateMachineProgram {
///     case dark
///     case bright(percent: Int)
///
///     static var initial: Lamp { .dark }
///     static var examples: [Lamp] { [.dark, .bright(percent: 100)] }
/// }
/// ```
///
/// The program takes the flags, the environment and the configuration file that `statemachine`
/// takes, except for those that say which file declares a machine; it answers `--help`, `--version`
/// and `--check-config`, and it ends with the same statuses: 64 for a wrong command line, 78 if
/// somebody has to change something first (the configuration, or a state that this version does not
/// know), 1 for what may go better at the next start. What keeps it from starting is reported in one
/// line.
///
/// A program that has arguments or a loop of its own makes a `StateMachineDaemon` instead.
public protocol StateMachineProgram: EnumState {
    /// The program's name, in its help, in front of its sentences and in its log; its configuration
    /// file is `/etc/NAME/config.yaml`.
    ///
    /// By default the name of the file that was started.
    static var programName: String { get }

    /// What the program is for, in a sentence, as `--help` shows it.
    static var about: String { get }

    /// What `--version` prints: by default the version of this package.
    static var version: String { get }

    /// Makes the machine that is served.
    ///
    /// - Parameters:
    ///   - snapshot: where it goes on: where the last run left it, or the beginning.
    ///   - options: what the daemon needs; the program may choose the other options, but has to
    ///     leave the log.
    /// - Returns: the machine, which nobody else has seen.
    static func makeMachine(
        resuming snapshot: Snapshot<Self>,
        options: StateMachine<Self>.Options
    ) -> StateMachine<Self>

    /// Adds the program's own delegates and voters.
    ///
    /// Called once, with the machine as the last run left it, before anybody can connect. What is
    /// added weakly, as delegates are by default, has to be kept by somebody.
    ///
    /// - Parameter machine: the machine that is served; the program may go on to set and observe
    ///   it.
    /// - Throws: what keeps the program from starting: a ``StateMachineServer/DaemonError`` has the
    ///   exit status, anything else means 1.
    @MainActor static func prepare(_ machine: StateMachine<Self>) async throws
}

extension StateMachineProgram {
    /// The name of the file that was started.
    public static var programName: String {
        let path = CommandLine.arguments.first ?? ""
        return path.split(separator: "/").last.map(String.init) ?? "\(Self.self)"
    }

    /// What every daemon is for.
    public static var about: String {
        "Holds the state of \(self.programName) and notifies everything around it of each change."
    }

    /// The version of this package.
    public static var version: String { StateMachineVersion.current }

    /// A machine with just these options.
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
    /// To be called on the main thread, before anything is opened, as `@main` does. In a
    /// `main.swift` it stands alone, with no `await` before it.
    public static func main() { ProgramCommand<Self>.live() }
}
