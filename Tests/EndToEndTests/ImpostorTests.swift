import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Whatever listens at the doors may be anybody and say anything, and a shell gets to see it at a
/// press of the tab key.
@Suite(.bounded) struct ImpostorTests {
    /// Words that an interactive bash would execute, offered among harmless ones.
    private static func words(_ file: String) -> [String] {
        [
            "$(touch \(file))", "`touch \(file)`", "a$(touch \(file))", "good", "b;touch \(file)",
            "--exec=touch", "a b", "\u{1B}]0;x\u{7}", "!touch", "${x:=$(touch \(file))}", "",
        ]
    }

    @Test func nothingThatADaemonSaysIsCarriedOut() async throws {
        try await withTemporaryDirectory { directory in
            let states = Self.words("\(directory)/hit").map { word in
                ["state": word, "fields": [word: ["type": "string", "values": [word]]]]
                    as [String: Any]
            }
            let reply = try JSONSerialization.data(
                withJSONObject: ["type": "reply", "ok": true, "states": states]
            )
            let doors = try ["control.sock", "events.sock"].map {
                try Impostor(at: "\(directory)/\($0)", answer: reply)
            }
            defer { withExtendedLifetime(doors) {} }
            let program = try BuiltProduct.statectl.path
            let offered = try await Self.complete(["set", ""], of: program, at: directory)
            #expect(offered == ["good"])
            let values = try await Self.complete(["set", "good", ""], of: program, at: directory)
            #expect(values == ["good=good"])
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/hit"))
        }
    }

    /// The script is as careful as statectl, of which another version may be installed.
    @Test func theScriptTakesNothingButWordsEither() async throws {
        try await withTemporaryDirectory { directory in
            let program = "\(directory)/statectl"
            let lines = Self.words("\(directory)/hit").map { "\($0)\n" }.joined()
            try "#!/bin/sh\ncat <<'END'\n\(lines)END\n".write(
                toFile: program,
                atomically: false,
                encoding: .utf8
            )
            #expect(chmod(program, 0o700) == 0)
            let offered = try await Self.complete(["set", ""], of: program, at: directory)
            #expect(offered.contains("good"))
            #expect(!offered.contains { $0.contains("touch \(directory)") })
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/hit"))
        }
    }

    /// What bash offers after those words, with the script that is installed.
    private static func complete(
        _ words: [String],
        of program: String,
        at directory: String
    ) async throws -> [String] {
        let harden = URL(filePath: #filePath)
            .appending(path: "../../../contrib/completions/harden").standardized
        let script = """
            source <("$1" --generate-completion-script bash | "$2") || exit
            shift 2
            COMP_WORDS=("$@")
            COMP_CWORD=$(($# - 1))
            COMP_LINE="$*"
            COMP_POINT=${#COMP_LINE}
            COMPREPLY=()
            _statectl "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let (output, _, _) = try await runTool(
            .name("bash"),
            ["--norc", "-c", script, "bash", BuiltProduct.statectl.path, harden.path, program]
                + words,
            environment: ["STATEMACHINE_RUNTIME_DIRECTORY": directory]
        )
        return output.split(separator: "\n").map(String.init)
    }
}

/// Listens at a socket and answers whatever comes with one line.
private final class Impostor {
    private let listener: Descriptor
    private let source: any DispatchSourceRead

    init(at path: String, answer: Data) throws {
        let listener = try Descriptor.socket(named: "door", at: path)
        let source = DispatchSource.makeReadSource(
            fileDescriptor: listener.number,
            queue: DispatchQueue(label: "impostor")
        )
        source.setEventHandler {
            let client = accept(listener.number, nil, nil)
            guard client >= 0 else { return }
            defer { close(client) }
            var request = [UInt8](repeating: 0, count: 4096)
            guard read(client, &request, request.count) > 0 else { return }
            let line = Array(answer) + [UInt8(ascii: "\n")]
            _ = write(client, line, line.count)
            // Until the client closes: it may send more.
            while read(client, &request, request.count) > 0 {}
        }
        source.activate()
        self.listener = listener
        self.source = source
    }

    deinit { self.source.cancel() }
}
