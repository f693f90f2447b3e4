import StateMachineCore
import StateMachineProtocol

/// What happens to a machine, and where each step is expected to lead.
package struct Trace: Sendable {
    private let steps: [TraceStep]

    /// Reads a trace.
    package init(_ text: String) throws(TraceFailure) {
        self.steps = try TraceReader.steps(of: text)
    }

    /// Runs a simulated machine through it.
    ///
    /// - Parameters:
    ///   - declaration: the machine.
    ///   - tell: called after each step with its line, where that led, and which cases were taken.
    /// - Throws: The first line that cannot be carried out, or leads elsewhere.
    /// - Returns: The state after the last step.
    package func run(
        on declaration: Declaration,
        telling tell: (Int, DeclaredState, [String]) -> Void = { _, _, _ in }
    ) throws(TraceFailure) -> DeclaredState {
        var simulation = Simulation(declaration)
        for step in self.steps {
            let fault = self.fault(of: step, declaration, &simulation)
            let choices = simulation.takeChoices()
            guard let fault else {
                tell(step.line, simulation.state, choices)
                continue
            }
            throw TraceFailure(
                line: step.line,
                sentence: ([fault] + choices).joined(separator: "; ")
            )
        }
        return simulation.state
    }

    /// Performs a step; returns what happened otherwise than it says.
    private func fault(
        of step: TraceStep,
        _ declaration: Declaration,
        _ simulation: inout Simulation
    ) -> String? {
        let isToBeRefused = self.expectsRefusal(step, declaration)
        var denial: String?
        do {
            try self.perform(step, declaration, &simulation)
        } catch _ as WireError where isToBeRefused {
            return nil
        } catch let refusal as WireError
            where refusal.code == .illegalTransition || refusal.code == .denied
        {
            // Nothing has changed, which is right if the trace says which state it expects.
            if step.expected == nil { return refusal.message }
            if refusal.code == .denied { denial = refusal.message }
        } catch {
            let sentence = (error as? WireError)?.message ?? "\(error)"
            return "\(sentence); found \(simulation.state.written)"
        }
        return isToBeRefused
            ? "expected a refusal, found \(simulation.state.written)"
            : step.expected.flatMap { self.difference(of: simulation.state, from: $0) }.map {
                ([$0] + [denial].compactMap(\.self)).joined(separator: "; ")
            }
    }

    /// Whether the step expects a refusal, for any reason; a state of that name takes precedence.
    private func expectsRefusal(_ step: TraceStep, _ declaration: Declaration) -> Bool {
        guard let expected = step.expected, expected.fields.isEmpty else { return false }
        return expected.state == TraceStep.refusal
            && declaration.stateNumber(TraceStep.refusal) == nil
    }

    private func perform(
        _ step: TraceStep,
        _ declaration: Declaration,
        _ simulation: inout Simulation
    ) throws {
        if let client = step.client, let act = step.action.act(in: simulation.state.declared.name),
            let right = declaration.right(to: act), !right.allows(client.user, in: client.groups)
        {
            throw right.refusal(to: act)
        }
        switch step.action {
        case .look: break
        case .reboot: try simulation.reboot()
        case .see(let link, let state): try simulation.see(link, state)
        case .wait(let time): try simulation.pass(time)
        case .at(let moment): try simulation.pass(until: moment)
        case .run(let end, let times): try simulation.endRun(end, times: times)
        case .send(let event, let words):
            try simulation.send(event, data: declaration.data(ofWords: words, forEvent: event))
        case .set(let state, let words):
            try simulation.set(state, data: declaration.data(ofWords: words, forState: state))
        case .update(let words):
            let texts = words.map { "\($0.key)=\($0.value)" }
            try simulation.update(try FieldWords(texts, in: "update", for: .update))
        }
    }

    private func difference(
        of found: DeclaredState,
        from expected: TraceStep.Expectation
    ) -> String? {
        do throws(WireError) {
            let members = try found.declaration.data(
                ofWords: expected.fields,
                forState: expected.state
            )
            let isMet =
                found.declared.name == expected.state
                && members.allSatisfy { found[$0.key]?.equals($0.value) ?? false }
            return isMet ? nil : "expected \(expected.written), found \(found.written)"
        } catch {
            return error.message
        }
    }
}

/// What is wrong with a line of a trace, or what happened otherwise than it says.
package struct TraceFailure: Error, Hashable, Sendable {
    package let line: Int
    package let sentence: String

    /// As a line of text: `TRACEFILE:LINE: sentence`.
    package func text(in file: String) -> String { "\(file):\(self.line): \(self.sentence)" }
}

/// A line of a trace.
private struct TraceStep: Sendable {
    /// What happens.
    enum Action: Sendable {
        case send(String, [(key: String, value: String)])
        case set(String, [(key: String, value: String)])
        case update([(key: String, value: String)])
        case wait(Duration)
        case at(WallTime)
        case run(RunEnd, times: Int)
        case reboot
        /// Another machine is seen in that state; nil: it cannot be seen.
        case see(String, NamedState?)
        /// Nothing happens: the state is only checked.
        case look

        /// What of it the machine's file may restrict to some users; nil: no client asks for it.
        func act(in state: String) -> RestrictedAct? {
            switch self {
            case .send(let event, _): .send(event)
            case .set(let state, _): .set(state)
            case .update: .update(state)
            case .wait, .at, .run, .reboot, .see, .look: nil
            }
        }
    }

    /// Who asks for it.
    struct Client: Sendable {
        let user: String
        let groups: [String]
    }

    /// What is written instead of an expected state if the step is to be refused.
    static let refusal = "refused"

    let line: Int
    /// Who asks for it; nil: root.
    let client: Client?
    let action: Action
    /// The state that is expected afterwards, with some of its fields; nil if none is.
    let expected: Expectation?

    /// A state with some of its fields.
    struct Expectation: Sendable {
        let state: String
        let fields: [(key: String, value: String)]

        /// As it is written in the trace.
        var written: String {
            ([self.state] + self.fields.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
        }
    }
}

/// Reads traces: what happens to a machine, line by line, and where that leads.
///
/// `send offer url=u version=2 -> downloading`, `set booting`, `update volume=3 tries+=1 left-=2`, `wait 24h -> idle`,
/// `run ends 1 x6 -> idle result=refused`, `run is killed by SIGKILL`, `run times out`, `run is interrupted`,
/// `at 2000-01-01T12:00:00Z`, `reboot -> idle`, `see water low level=3`, `see water` (it cannot be seen), `-> idle` alone, `set playing -> refused`, `as anna, @operators: send press`, and comments after `#`. A value with spaces stands in double quotes,
/// in which \\" is a quote and \\\\ a backslash.
private enum TraceReader {
    /// The most ends of a run in one line.
    private static let mostEnds = 10_000

    static func steps(of text: String) throws(TraceFailure) -> [TraceStep] {
        var steps: [TraceStep] = []
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            do throws(TimeText.Objection) {
                let step = try self.step(self.words(Substring(line)), index + 1)
                if let step { steps.append(step) }
            } catch {
                throw TraceFailure(line: index + 1, sentence: error.sentence)
            }
        }
        return steps
    }

    /// The step of a line; nil if the line says nothing.
    private static func step(
        _ words: [String],
        _ line: Int
    ) throws(TimeText.Objection) -> TraceStep? {
        guard !words.isEmpty else { return nil }
        var words = words
        let client = try self.takeClient(&words)
        let arrow = words.firstIndex(of: "->")
        let action = try self.action(Array(words[..<(arrow ?? words.endIndex)]))
        guard client == nil || action.act(in: "") != nil else {
            throw TimeText.Objection(
                sentence: "nobody asks for that; \"as\" stands before send, set or update"
            )
        }
        var expected: TraceStep.Expectation?
        if let arrow {
            let words = words[(arrow + 1)...]
            guard let state = words.first else {
                throw TimeText.Objection(sentence: "write the expected state after ->")
            }
            expected = TraceStep.Expectation(
                state: state,
                fields: try self.fields(words.dropFirst())
            )
        }
        return TraceStep(line: line, client: client, action: action, expected: expected)
    }

    /// Takes `as anna, @operators:`, if a line begins so: the client's user and its groups.
    private static func takeClient(
        _ words: inout [String]
    ) throws(TimeText.Objection) -> TraceStep.Client? {
        guard words.first == "as" else { return nil }
        let colon = UInt8(ascii: ":")
        let end = words.firstIndex { $0.utf8.last == colon }
        let names = words[1..<(end.map { $0 + 1 } ?? 1)].joined().dropLast().split(separator: ",")
        let groups = names.filter { $0.first == "@" }
        guard let end, let user = names.first, groups.count == names.count - 1,
            user.first != "@", groups.allSatisfy({ $0.count > 1 })
        else {
            throw TimeText.Objection(
                sentence:
                    "write who asks as one user and its groups: as anna, @operators: send press"
            )
        }
        words.removeFirst(end + 1)
        return TraceStep.Client(user: String(user), groups: groups.map { String($0.dropFirst()) })
    }

    private static func action(_ words: [String]) throws(TimeText.Objection) -> TraceStep.Action {
        let rest = words.dropFirst()
        switch (words.first, rest.count) {
        case (nil, _): return .look
        case ("reboot", 0): return .reboot
        case ("see", 1): return .see(rest[1], nil)
        case ("see", 2...):
            let data = try self.fields(rest.dropFirst(2)).map {
                JSONMember($0.key, JSONValue(typed: $0.value))
            }
            return .see(rest[1], NamedState(rest[2], data))
        case ("send", 1...): return .send(rest[1], try self.fields(rest.dropFirst()))
        case ("set", 1...): return .set(rest[1], try self.fields(rest.dropFirst()))
        case ("update", 1...): return .update(try self.fields(rest))
        case ("wait", 1...):
            return .wait(try TimeText.duration(rest.joined(separator: " ")))
        case ("at", 1):
            guard let moment = WallTime(reading: rest[1]) else {
                throw TimeText.Objection(
                    sentence: "\(rest[1].quoted) is no moment; write it like 2000-01-01T12:00:00Z"
                )
            }
            return .at(moment)
        case ("run", 2...): return try self.run(Array(rest))
        case (let word?, _):
            throw TimeText.Objection(
                sentence:
                    "\(word.quoted) is not a step; write send EVENT, set STATE, update key=value, wait TIME, at MOMENT, "
                    + "run ends CODE, run is killed by SIGNAL, run times out, run is interrupted, reboot, or see LINK STATE"
            )
        }
    }

    /// `ends 1`, `is killed by SIGKILL`, `ends SIGKILL`, `times out`, `is interrupted`, each perhaps with `x6`.
    private static func run(_ words: [String]) throws(TimeText.Objection) -> TraceStep.Action {
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
        throw TimeText.Objection(
            sentence:
                "a run ends CODE, is killed by SIGNAL, times out, or is interrupted; x6 means six times"
        )
    }

    private static func fields(
        _ words: some Sequence<String>
    ) throws(TimeText.Objection) -> [(key: String, value: String)] {
        var fields: [(key: String, value: String)] = []
        for word in words {
            let parts = word.split(at: "=", maxSplits: 1)
            guard parts.count == 2, !parts[0].isEmpty else {
                let arrow = ["->", "=>"].first { word.hasPrefix($0) }
                throw TimeText.Objection(
                    sentence: arrow.map { "\(word.quoted): write -> \(word.dropFirst($0.count))" }
                        ?? "\(word.quoted) is not key=value; a trace names each field"
                )
            }
            fields.append((parts[0], parts[1]))
        }
        return fields
    }

    /// Words between white space, up to a comment; double quotes keep white space together, and in them a backslash
    /// makes a quote or a backslash part of the word.
    private static func words(_ line: Substring) throws(TimeText.Objection) -> [String] {
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
            throw TimeText.Objection(sentence: "a quote is not closed")
        }
        if let word { words.append(word) }
        return words
    }
}
