internal import CPlatform
internal import Glibc

/// The first process of a container, which inherits whatever its descendants leave behind.
///
/// It waits for all of that, as an init does, and leaves the program's work to a child of its own: what ends there, the
/// program itself awaits.
package enum FirstProcess {
    /// Starts this program again as a child, passes signals on to it, and ends as it does, if this is PID 1.
    ///
    /// To be called before there is a second thread. Returns if this is not PID 1, or no child can be started.
    package static func standIn() {
        guard getpid() == 1 else { return }
        // A blocked signal waits for sigwait(3), although the kernel drops what PID 1 has no handler for.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        var pid: pid_t = 0
        let arguments = CommandLine.unsafeArgv
        guard platform_spawn(&pid, "/proc/self/exe", arguments, environ, -1, -1, -1, 0, 0) == 0
        else {
            pthread_sigmask(SIG_SETMASK, &before, nil)
            return
        }
        while true {
            var signal: CInt = 0
            guard sigwait(&all, &signal) == 0 else { continue }
            if signal == SIGCHLD { self.reap(until: pid) } else { kill(pid, signal) }
        }
    }

    /// Waits for all that has ended; ends the process if the child is among it.
    private static func reap(until child: pid_t) {
        var status: CInt = 0
        while case let pid = waitpid(-1, &status, WNOHANG), pid > 0 {
            guard pid == child else { continue }
            switch RunningProgram.End(status) {
            case .exited(let code): _exit(code)
            case .signalled(let signal): _exit(128 + signal)
            }
        }
    }
}
