package import Systemd

/// How a command ended, as systemd reports it for its unit.
extension CommandEnd {
    /// - Parameter service: of a unit that nobody had stopped.
    package init(_ service: ServiceProcess) {
        let duration = max(.zero, service.ended - service.started)
        switch (service.result, service.end) {
        case ("timeout", _):
            self.init(.timeout, duration: duration)
        // The kernel may have taken another process than the main one, which then ended as it liked.
        case ("oom-kill", _):
            self.init(.signal("SIGKILL"), duration: duration)
        case (_, .exited(let code)):
            self.init(.exit(code), duration: duration)
        case (_, .killed(let signal)):
            self.init(.signal(SignalName.of(CInt(signal))), duration: duration)
        // There never was a process: a file of variables is missing, or there is no memory.
        case (_, .none):
            self.init(.exit(Self.notExecuted), duration: duration)
        }
    }

    /// The status of a program that could not be executed: systemd.exec(5), `EXIT_EXEC`.
    static let notExecuted = 203
}
