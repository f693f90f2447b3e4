/// Where a value came from.
package enum SettingOrigin: Hashable, CustomStringConvertible {
    case flag
    case environment(String)
    case file(path: String, line: Int)
    case builtIn

    package var description: String {
        switch self {
        case .flag: "flag"
        case .environment(let variable): variable
        case .file(let path, let line): "\(path):\(line)"
        case .builtIn: "default"
        }
    }
}
