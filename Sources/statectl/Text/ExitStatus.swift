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
            case .restart, .shutdown, .session, nil: self = .lost
            }
        case .refused(let line):
            // Whether it has happened shows later, as after a connection that was lost.
            let isUnsure = line.error == .unavailable && line.value["unsure"]?.bool == true
            self = isUnsure ? .lost : line.error.map { ExitStatus($0) } ?? .no
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
        case .unavailable: self = .unreachable
        default: self = .no
        }
    }

    /// Reports the end of a command on standard error, or for help on standard output.
    static func reporting(_ error: any Error) -> ExitStatus {
        switch error {
        case let status as ExitStatus: return status
        case let refusal as Refusal:
            StandardError.say(refusal.sentence)
            return refusal.status
        case let error as UsageError:
            StandardError.write(error.text)
            return .usage
        case OutputError.readerGone: return .yes
        case OutputError.failed(let code):
            StandardError.say("cannot write: \(String(cString: strerror(code)))")
            return .no
        case let error as ClientError:
            StandardError.say("\(error.description.printable)\(error.others)")
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
        let directories = Instance.directories
        let isUnnamed =
            switch self {
            case .notFound: true
            case .unreachable(let path, _):
                directories.contains { path == RuntimeDirectory($0).socketPath(of: .control) }
            default: false
            }
        let names = isUnnamed ? Instance.all().compactMap(\.name) : []
        guard let first = names.first else { return "" }
        return
            "; known: \(names.joined(separator: ", ").printable); try statectl -m \(first.printable)"
    }
}

// A daemon's refusal in one sentence for people.
extension LineText {
    func refusal(_ reply: Line) -> String {
        let denial = reply.error == .denied ? self.denial(reply.value) : nil
        return denial ?? self.localized(ClientError.refused(reply).description).printable
    }

    /// Who said no: `denied by hold 1 of root (4711): backup runs; and 3 more`.
    func denial(_ answer: JSONValue) -> String? {
        guard let rows = answer["by"]?.elements, !rows.isEmpty else { return nil }
        let lacks = rows.compactMap { $0["link"] == nil ? nil : $0["why"]?.string?.printable }
        guard lacks.count < rows.count else {
            return "denied: \(lacks.joined(separator: ", and "))"
        }
        let more = answer["more"]?.integer.map { ["and \($0) more"] } ?? []
        return "denied by " + (rows.map(self.denier) + more).joined(separator: "; ")
    }

    private func denier(_ row: JSONValue) -> String {
        let names = ["hold", "guard"].compactMap { kind in
            row[kind].map { "\(kind) \($0.shortText)" }
        }
        let name = names.first ?? row["delegate"]?.string?.printable ?? "?"
        if let absence = self.absence(row, name) { return absence }
        let verb = row["guard"] == nil ? "taken" : "required"
        let named = row["as"]?.string.map { ["\(verb) as \($0.printable)"] } ?? []
        let notes = (named + (row["away"]?.bool == true ? ["its client is away"] : []))
            .joined(separator: ", ")
        let who = name + self.origin(row)
        // The reason comes first, and then what else there is to know.
        guard let why = row["why"]?.string, !why.isEmpty else {
            return notes.isEmpty ? who : "\(who), \(notes)"
        }
        return "\(who): \(why.printable)" + (notes.isEmpty ? "" : " (\(notes))")
    }

    /// For a required guard that is not connected: which, since when, and what to do.
    private func absence(_ row: JSONValue, _ name: String) -> String? {
        guard let required = row["required"]?.string?.printable,
            let since = row["missing"]?.string
        else { return nil }
        return "\(name)\(self.origin(row)), required as \(required) but not connected since "
            + self.localized(since.printable)
            + "; start it, or run statectl release --required \(required)"
    }

    /// Whose vote it is, unless it is the daemon's own.
    private func origin(_ row: JSONValue) -> String {
        guard row["delegate"] == nil, row["uid"] != nil else { return "" }
        return " of \(self.peer(row))"
    }

    /// The sentence with the protocol's times in local time.
    private func localized(_ sentence: String) -> String {
        sentence.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let hasEnd = word.last.map { [";", ",", "."].contains($0) } ?? false
            let time = WallTime(rfc3339: hasEnd ? word.dropLast() : word).flatMap(self.clock)
            return time.map { hasEnd ? $0 + String(word.suffix(1)) : $0 } ?? String(word)
        }
        .joined(separator: " ")
    }
}

/// What ends a command, in a sentence.
struct Refusal: Error {
    let sentence: String
    let status: ExitStatus

    init(_ sentence: String, _ status: ExitStatus = .no) {
        (self.sentence, self.status) = (sentence, status)
    }
}
