import Foundation
import Subprocess
import TestSupport
import Testing

/// What statectl says about words that it cannot accept, and how it shows times.
@Suite(.bounded)
struct StatectlWordTests {
    @Test(arguments: [
        (["wiat", "ready"], "did you mean wait?"),
        (["set", "READY", "true"], "did you mean ready?"),
        (["set", "data-retrieval", "idle"], "did you mean dataRetrieval?"),
        (["history", "-n", "1", "--limit=2"], "--limit is given twice"),
        (["get", "--all"], "--all means every machine"),
    ])
    func whatCannotBeMeantEndsWithTwo(words: [String], sentence: String) async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                let ended = try await BuiltProduct.statectl.run(
                    ["--runtime-directory", daemon.directory] + words
                )
                #expect(ended.status == .exited(2))
                #expect(ended.output == "")
                #expect(ended.errors.contains(sentence), "\(ended.errors)")
                #expect(!ended.errors.contains("Ms"), "\(ended.errors)")
                // Shows the usage, of the command if there is one.
                if ended.errors.hasPrefix("Error: ") {
                    let command = sentence.contains("--") ? " \(words[0]) " : " "
                    #expect(ended.errors.contains("\nUsage: statectl\(command)"), "\(ended.errors)")
                }
            }
            #expect(ended.status == .exited(0))
        }
    }

    @Test func timesAreLocalOrInUTC() async throws {
        try await withTemporaryDirectory { directory in
            let ended = try await DaemonProcess.run(in: directory) { daemon in
                func shown(_ words: String...) async throws -> String {
                    let ended = try await BuiltProduct.statectl.run(
                        ["--runtime-directory", daemon.directory] + words,
                        environment: ["TZ": "<+05>-5"]
                    )
                    return ended.output + ended.errors
                }
                let line = try await daemon.ask(\.control, "set ready true")
                let at = try #require(line.string("at"))
                // hh:mm:ss.mmm of 2026-11-20T21:55:03.120007Z.
                let time = at.dropFirst(11).prefix(12)
                let hour = try #require(Int(time.prefix(2)))
                let local = (hour + 5) % 24
                let localTime = (local < 10 ? "0" : "") + "\(local)" + time.dropFirst(2)
                #expect(try await shown("history").contains(localTime))
                #expect(try await shown("history", "--utc").contains("\(time)Z"))
                // Times within the daemon's sentences are shown the same way.
                let words = ["wait", "authentication", "--timeout", "10ms"]
                let late = try await shown(words[0], words[1], words[2], words[3])
                #expect(late.contains(localTime) && !late.contains(at), "\(late)")
                let utc = try await shown("--utc", words[0], words[1], words[2], words[3])
                #expect(utc.contains("\(time)Z"), "\(utc)")
            }
            #expect(ended.status == .exited(0))
        }
    }
}
