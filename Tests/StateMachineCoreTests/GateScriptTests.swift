import Foundation
import TestSupport
import Testing

@testable import StateMachineCore

/// What the gate, and what it consists of, make of events, as text that can be read without Swift.
///
/// A line of a script is a command, and the lines below it that begin with spaces are what follows from it, in order;
/// lines with `#` are comments. A file's name begins with what it is about, which is who plays it: `gate`, `groups`,
/// `tally` or `electorate`; each of the players lists its commands. Whoever means to change what follows runs
/// `WRITE_GATE_SCRIPTS=1 swift test --filter GateScriptTests`, and shows the difference in its commit.
@Suite struct GateScriptTests {
    private static let directory =
        "\(#filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined())/GateScripts"

    static let scripts = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
        .filter { $0.hasSuffix(".txt") }
        .sorted()

    @Test(arguments: scripts) func whatFollowsIsAsWritten(_ name: String) throws {
        let script = try RecordedText(name, in: Self.directory)
        let player = try #require(Self.player(of: name))
        let seen = Self.played(script.text, by: player)
        try script.expect(seen, rewritingIf: "WRITE_GATE_SCRIPTS")
    }

    @Test func thereAreScriptsOfEachKind() {
        #expect(Set(Self.scripts.compactMap { $0.split(separator: "-").first }).count == 4)
    }

    private static func player(of name: String) -> (any ScriptPlayer)? {
        switch name.split(separator: "-").first {
        case "gate": GatePlayer()
        case "groups": GroupsPlayer()
        case "tally": TallyPlayer()
        case "electorate": ElectoratePlayer()
        default: nil
        }
    }

    /// The script, with what has followed from each command.
    private static func played(_ script: String, by player: any ScriptPlayer) -> String {
        var lines: [String] = []
        for line in script.split(separator: "\n", omittingEmptySubsequences: false)
        where !line.hasPrefix(" ") {
            lines.append(String(line))
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            player.perform(ScriptCommand(line))
            lines += player.transcript.takeAll().map { "    \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}

/// A command of a script: words, some of which may be `key=value`.
struct ScriptCommand {
    let name: String
    private let words: [String]
    private let settings: [String: String]

    init(_ line: some StringProtocol) {
        var words = line.split(separator: " ").map { String($0) }
        self.name = words.isEmpty ? "" : words.removeFirst()
        self.words = words.filter { !$0.contains("=") }
        self.settings = [String: String](
            words.compactMap { word in
                word.firstIndex(of: "=").map {
                    (String(word[..<$0]), String(word[word.index(after: $0)...]))
                }
            },
            uniquingKeysWith: { $1 }
        )
    }

    /// The word at that place after the command's name; empty if there is none.
    subscript(_ place: Int) -> String {
        self.words.indices.contains(place) ? self.words[place] : ""
    }

    /// The value of that key.
    subscript(_ key: String) -> String? { self.settings[key] }

    /// All words from that place on.
    func rest(from place: Int) -> String { self.words.dropFirst(place).joined(separator: " ") }

    func has(_ word: String) -> Bool { self.words.contains(word) }

    /// The words from that place on as numbers; nil if there are none.
    func numbers(from place: Int) -> [Int]? {
        let numbers = self.words.dropFirst(place).compactMap { Int($0) }
        return numbers.isEmpty ? nil : numbers
    }
}

/// Plays one kind of script; one thread at a time calls it.
protocol ScriptPlayer: AnyObject {
    var transcript: ScriptTranscript { get }

    /// What each command does.
    static var commands: [String: (Self) -> (ScriptCommand) -> Void] { get }
}

extension ScriptPlayer {
    func perform(_ command: ScriptCommand) {
        guard let body = Self.commands[command.name] else {
            return self.transcript.say("there is no command \(command.name)")
        }
        body(self)(command)
    }
}

/// What has followed from the present command.
///
/// Guarded state: all of it, behind `guarded`.
final class ScriptTranscript: Sendable {
    private struct Guarded {
        var lines: [String] = []
        /// What to do, once, when a line begins so.
        var reactions: [(beginning: String, body: @Sendable () -> Void)] = []
    }

    private let guarded = Lock(Guarded())

    func say(_ line: String) {
        let reaction = self.guarded.withLock { guarded -> (@Sendable () -> Void)? in
            guarded.lines.append(line)
            let index = guarded.reactions.firstIndex { line.hasPrefix($0.beginning) }
            return index.map { guarded.reactions.remove(at: $0).body }
        }
        reaction?()
    }

    /// Has `body` called where the next line that begins so is said.
    func react(to beginning: String, _ body: @escaping @Sendable () -> Void) {
        self.guarded.withLock { $0.reactions.append((beginning, body)) }
    }

    func takeAll() -> [String] { self.guarded.withLock { exchange(&$0.lines, with: []) } }
}

/// The states of scripts; a lamp that is broken can only be switched off.
enum Light: String, EnumState, CaseIterable {
    case off
    case dim
    case bright
    case broken

    enum Name: String, CaseIterable {
        case off
        case dim
        case bright
        case broken
    }

    static var initial: Light { .off }
    static var examples: [Light] { self.allCases }

    var successors: Set<Name> { self == .broken ? [.off] : Set(Name.allCases) }

    static func value(_ word: String) -> Value { TypedValue(Light(rawValue: word) ?? .off) }

    /// Where voters on changes to it are found.
    var bucket: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension Value {
    /// A value that is a light.
    var light: Light { TypedValue<Light>.state(of: self) }
}

extension StateMachineCore.Place {
    /// As scripts show it.
    var shown: String { "\(self.seq) \(self.value.text)" }
}
