import CPlatform
import Glibc
import SystemPackage

/// A directory in which one program keeps its state, closed to everybody but its user.
package enum PrivateDirectory {
    /// Why a directory cannot be had.
    package enum Fault: Error {
        /// What could not be done, as it stands behind "cannot", and the error number.
        case cannot(String, CInt)
        /// What is wrong with it, and what to do.
        case unfit(String)
    }

    /// Makes the directory, unless it is there, and takes away all rights that others have to it.
    ///
    /// One that others may open is only closed to them if it is empty or has some of `own`, the program's own files:
    /// else a mistake would take away a directory that all programs need.
    package static func prepare(_ path: String, own: [String]) throws(Fault) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw .cannot("create the state directory \(path)", errno)
        }
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .cannot("examine the state directory \(path)", errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .unfit("\(path) is not a directory; choose another --state-directory")
        }
        guard status.st_uid == geteuid() else {
            throw .unfit(
                "the state directory \(path) belongs to uid \(status.st_uid), not to "
                    + "\(geteuid()); chown it, or choose another --state-directory"
            )
        }
        guard status.st_mode & 0o077 != 0 else { return }
        let names = FilePath(path).names
        guard names.isEmpty || names.contains(where: own.contains) else {
            throw .unfit(
                "the state directory \(path) is open to other users and has other files; choose "
                    + "another --state-directory, or close it with chmod 700"
            )
        }
        guard chmod(path, 0o700) == 0 || errno == EROFS else {
            throw .cannot("set the mode of \(path)", errno)
        }
    }
}
