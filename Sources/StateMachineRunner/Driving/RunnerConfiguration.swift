package import StateMachineProtocol

/// What a runner is given when it begins.
package struct RunnerConfiguration: Sendable {
    /// Where the daemon's doors are.
    package let directory: RuntimeDirectory
    /// The machine's label.
    package let label: MachineLabel
    /// The file that declares it.
    package let source: DeclarationSource
    /// Which boot of the machine this is.
    package let boot: String

    package init(
        directory: RuntimeDirectory,
        label: MachineLabel,
        source: DeclarationSource,
        boot: String
    ) {
        self.directory = directory
        self.label = label
        self.source = source
        self.boot = boot
    }
}

/// What a runner is asked to do from outside.
package enum RunnerSignal: Sendable {
    /// To end, and to stop what runs.
    case stop
    /// To end for another that takes its place, and to leave what runs.
    case leave
    /// To read the file again.
    case reread
}
