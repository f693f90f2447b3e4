import Glibc

extension posix_spawn_file_actions_t {
    /// Closes all of this process's descriptors from `first` on in the new process.
    ///
    /// Other tests' sockets are among them; if a daemon kept them open, their readers would never
    /// see the end.
    mutating func close(from first: CInt) throws {
        // posix_spawn_file_actions_addclosefrom_np(3), which Glibc's module leaves out.
        typealias Add = @convention(c) (UnsafeMutablePointer<Self>, CInt) -> CInt
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
            throw TestFailure("this system cannot close what a new process is not to have")
        }
        let result = unsafeBitCast(symbol, to: Add.self)(&self, first)
        guard result == 0 else { throw TestFailure("cannot close from \(first): errno \(result)") }
    }
}
