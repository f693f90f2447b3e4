import StateMachineProtocol

/// Reads traces: what happens to a machine, line by line, and where that leads.
///
/// `send offer url=u version=2 -> downloading`, `set booting`, `update volume=3 tries+=1`, `wait 24h -> idle`,
/// `run ends 1 x6 -> idle result=refused`, `run is killed by SIGKILL`, `run times out`, `run is interrupted`,
/// `reboot -> idle`, `-> idle` alone, `set playing -> refused`, and comments after `#`. A value with spaces stands in double quotes,
/// in which \\" is a quote and \\\\ a backslash.
enum TraceReader {
    /// The most ends of a run in one line.
    private static let mostEnds = 10_000

    static func steps(of text: String) throws(TraceFailure) -> [TraceStep] {
        var steps: [TraceStep] = []
        let lines = text.utf8.split(
            separator: UInt8(ascii: "\n"),
            omittingEmptySubsequences: false
        )
        for (index, line) in lines.enumerated() {
            let words = try self.words(Substring(line), index + 1)
            if let step = try self.step(words, index + 1) { steps.append(step) }
        }
        return steps
    }

    /// The step of a line; nil if the line says nothing.
    private static func step(_ words: [String], _ line: Int) throws(TraceFailure) -> TraceStep? {
        guard !words.isEmpty else { return nil }
        let arrow = words.firstIndex(of: "->")
        let action = try self.action(Array(words[..<(arrow ?? words.endIndex)]), line)
        var expected: TraceStep.Expectation?
        if let arrow {
            let words = words[(arrow + 1)...]
            guard let state = words.first else {
                throw TraceFailure(line: line, sentence: "name the state that is expected after ->")
            }
            expected = TraceStep.Expectation(
                state: state,
                fields: try self.fields(words.dropFirst(), line)
            )
        }
        return TraceStep(line: line, action: action, expected: expected)
    }

    private static func action(
        _ words: [String],
        _ line: Int
    ) throws(TraceFailure) -> TraceStep.Action {
        let rest = words.dropFirst()
        switch (words.first, rest.count) {
        case (nil, _): return .look
        case ("reboot", 0): return .reboot
        case ("send", 1...): return .send(rest[1], try self.fields(rest.dropFirst(), line))
        case ("set", 1...): return .set(rest[1], try self.fields(rest.dropFirst(), line))
        case ("update", 1...): return .update(try self.fields(rest, line))
        case ("wait", 1):
            do {
                return .wait(try TimeText.duration(rest[1]))
            } catch {
                throw TraceFailure(line: line, sentence: error.sentence)
            }
        case ("run", 2...): return try self.run(Array(rest), line)
        case (let word?, _):
            throw TraceFailure(
                line: line,
                sentence:
                    "\(word.quoted) cannot be read; write send EVENT, set STATE, update key=value, wait TIME, "
                    + "run ends CODE, run is killed by SIGNAL, run times out, run is interrupted, or reboot"
            )
        }
    }

    /// `ends 1`, `is killed by SIGKILL`, `ends SIGKILL`, `times out`, `is interrupted`, each perhaps with `x6`.
    private static func run(
        _ words: [String],
        _ line: Int
    ) throws(TraceFailure) -> TraceStep.Action {
        var words = words
        var times = 1
        if let last = words.last, last.utf8.first == UInt8(ascii: "x"),
            let number = Int(last.dropFirst()), (1...self.mostEnds).contains(number)
        {
            times = number
            words.removeLast()
        }
        switch words {
        case ["times", "out"]: return .run(.timeout, times: times)
        case ["is", "interrupted"]: return .run(.interrupted, times: times)
        case let words where words.count == 4 && words[..<3] == ["is", "killed", "by"]:
            if RunEnd.isSignal(words[3]) { return .run(.signal(words[3]), times: times) }
        case let words where words.count == 2 && words[0] == "ends":
            if let code = Int(words[1]), (0...255).contains(code) {
                return .run(.exit(code), times: times)
            }
            if RunEnd.isSignal(words[1]) { return .run(.signal(words[1]), times: times) }
        default: break
        }
        throw TraceFailure(
            line: line,
            sentence:
                "a run ends CODE, is killed by SIGNAL, times out, or is interrupted; x6 says six times"
        )
    }

    private static func fields(
        _ words: some Sequence<String>,
        _ line: Int
    ) throws(TraceFailure) -> [TraceWord] {
        var fields: [TraceWord] = []
        for word in words {
            let parts = word.utf8.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard parts.count == 2, !parts[0].isEmpty else {
                throw TraceFailure(line: line, sentence: "\(word.quoted) is not key=value")
            }
            fields.append(
                TraceWord(key: String(Substring(parts[0])), value: String(Substring(parts[1])))
            )
        }
        return fields
    }

    /// Words between white space, up to a comment; double quotes keep white space together, and in them a backslash
    /// makes a quote or a backslash part of the word.
    private static func words(_ line: Substring, _ number: Int) throws(TraceFailure) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        var isEscaped = false
        for scalar in line.unicodeScalars {
            if isEscaped {
                if scalar != "\"", scalar != "\\" { word?.unicodeScalars.append("\\") }
                word?.unicodeScalars.append(scalar)
                isEscaped = false
                continue
            }
            switch scalar {
            case "\\" where isQuoted: isEscaped = true
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case " ", "\t", "\r":
                guard isQuoted else {
                    if let word { words.append(word) }
                    word = nil
                    continue
                }
                word?.unicodeScalars.append(scalar)
            case "#" where word == nil && !isQuoted: return words
            default:
                word = word ?? ""
                word?.unicodeScalars.append(scalar)
            }
        }
        guard !isQuoted, !isEscaped else {
            throw TraceFailure(line: number, sentence: "a quote is not closed")
        }
        if let word { words.append(word) }
        return words
    }
}
