import ArgumentParser
import Glibc
import StateMachineClient
import StateMachineCore

/// How the process ends.
enum ExitStatus: Int32, Error {
    /// Yes, reached, accepted.
    case yes = 0
    /// No, refused, a failed state.
    case no = 1
    /// A command line, a state or data that cannot be right.
    case usage = 2
    /// EX_UNAVAILABLE of sysexits.h.
    case unreachable = 69
    /// EX_TEMPFAIL of sysexits.h: the connection was lost for good.
    case lost = 75
    /// EX_NOPERM of sysexits.h.
    case notPermitted = 77
    /// EX_CONFIG of sysexits.h: a file that declares a machine has errors.
    case configuration = 78
    /// As timeout(1) has it.
    case timeout = 124

    init(_ error: ClientError) {
        switch error {
        case .notFound, .noInstance, .unreachable, .crowded, .silent, .malformed, .lineTooLong:
            self = .unreachable
        case .pathTooLong: self = .usage
        case .notPermitted: self = .notPermitted
        case .lost, .lostForGood: self = .lost
        case .timedOut: self = .timeout
        case .dismissed(let line):
            switch line.reason.flatMap({ ServerLine.ByeReason(rawValue: $0) }) {
            case .limit, .tooLong: self = .no
            case .refused: self = .unreachable
            case .restart, .shutdown, nil: self = .lost
            }
        case .refused(let line): self = line.error.map { ExitStatus($0) } ?? .no
        }
    }

    init(_ error: CursorFile.Failure) {
        switch error {
        case .nonsense: self = .usage
        case .unreadable, .unwritable: self = .no
        }
    }

    init(_ code: ErrorCode) {
        switch code {
        case .unknownState, .unknownEvent, .badData, .badRequest, .badJSON, .unknownOperation:
            self = .usage
        case .forbidden: self = .notPermitted
        case .badFile: self = .configuration
        case .timeout: self = .timeout
        case .shuttingDown: self = .lost
        default: self = .no
        }
    }

    /// Reports the end of a command on standard error, or for help on standard output.
    static func reporting(_ error: any Error) -> ExitStatus {
        switch error {
        case let status as ExitStatus:
            return status
        case let refusal as Refusal:
            StandardError.write("statectl: \(refusal.sentence)")
            return refusal.status
        case let error as UsageError:
            StandardError.write(error.text)
            return .usage
        case OutputError.readerGone:
            return .yes
        case OutputError.failed(let code):
            StandardError.write("statectl: cannot write: \(String(cString: strerror(code)))")
            return .no
        case let error as ClientError:
            StandardError.write("statectl: \(error.description.printable)\(error.others)")
            return ExitStatus(error)
        case let error as CursorFile.Failure:
            StandardError.write("statectl: \(error.description.printable)")
            return ExitStatus(error)
        default:
            let text = Statectl.fullMessage(for: error)
            guard Statectl.exitCode(for: error).isSuccess else {
                StandardError.write(text)
                return .usage
            }
            do {
                let help = Statectl.endingWithExamples(text)
                try StandardOutput.offer(help.folded(to: StandardOutput.columns))
                return .yes
            } catch {
                return self.reporting(error)
            }
        }
    }
}

extension ClientError {
    /// Which machines there are instead, if the one without a name was meant and is not there.
    fileprivate var others: String {
        let places = Instance.places
        let isUnnamed =
            switch self {
            case .notFound: true
            case .unreachable(let path, _):
                places.contains { path == RuntimeDirectory($0).socketPath(of: .control) }
            default: false
            }
        let names = isUnnamed ? Instance.all().compactMap(\.name) : []
        guard let first = names.first else { return "" }
        return
            "; there is \(names.joined(separator: ", ").printable): statectl -m \(first.printable)"
    }
}
