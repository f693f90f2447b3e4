import Glibc

/// The names of signals: `SIGKILL`.
package enum SignalName {
    /// Those of signal(7), by their numbers from 1.
    private static let names = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ]

    /// The name of a signal; of a real-time one `SIGRTMIN+3`.
    package static func of(_ number: CInt) -> String {
        let index = Int(number) - 1
        if self.names.indices.contains(index) { return "SIG\(self.names[index])" }
        // glibc keeps the first two, 32 and 33, for itself.
        return number > 34 ? "SIGRTMIN+\(number - 34)" : number == 34 ? "SIGRTMIN" : "SIG\(number)"
    }
}
