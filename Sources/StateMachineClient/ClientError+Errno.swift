import Glibc

extension ClientError {
    /// What a failed `connect(2)` means.
    init(connecting path: String, errnoCode: CInt) {
        switch errnoCode {
        case EACCES, EPERM:
            self = .notPermitted(path: path)
        case ECONNREFUSED:
            self = .unreachable(path: path, reason: "connection refused")
        case ENOENT, ENOTDIR:
            self = .unreachable(path: path, reason: "no such socket")
        case EAGAIN:
            self = .crowded(path: path)
        case ENAMETOOLONG:
            self = .pathTooLong(path)
        default:
            self = .unreachable(path: path, reason: "error \(errnoCode)")
        }
    }
}
