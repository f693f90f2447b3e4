import Foundation
import Subprocess
import TestSupport
import Testing

/// A daemon that does not start tells the service manager why, so that `systemctl status` shows it.
@Suite(.bounded) struct StartFailureTests {
    @Test func aFlagThatCannotBeMeantIsTold() async throws {
        try await withIdleService { service in
            let (message, errors, status) = try await service.refusal(["--colour"])
            #expect(message == "STATUS=Unknown option '--colour'\nEXIT_STATUS=64")
            #expect(errors.hasPrefix("Error: Unknown option '--colour'\nUsage: statemachine "))
            #expect(status == EX_USAGE)
        }
    }

    /// Not with the next word in the place of an empty value, nor in a directory of another name.
    @Test(arguments: [
        (
            BuiltProduct.statemachine, "--instance= lamp --ephemeral", EX_USAGE,
            "Unexpected argument 'lamp'"
        ),
        (.runner, "--instance= lamp --children", EX_USAGE, "--instance is empty"),
        (.web, "--host= lamp --listen unix:page", EX_USAGE, "--host is empty"),
        (
            .statemachine, "--instance= --ephemeral", EX_CONFIG,
            "--instance must be a word"
        ),
        (.statemachine, "--runtime-directory= --ephemeral", EX_CONFIG, "must be a path, not \"\""),
        (.statemachine, "--config= --check-config", EX_CONFIG, "configuration file is empty"),
        (
            .statemachine, #"--runtime-directory "$(printf 'r\377')""#, EX_USAGE,
            #""r\xff" is not UTF-8"#
        ),
        (.runner, "--instance= --children", EX_USAGE, "--instance is empty"),
        (.runner, "--machine= --children", EX_USAGE, "--machine is empty"),
        (.runner, #"--machine "$(printf 'm\377')""#, EX_USAGE, #""m\xff" is not UTF-8"#),
        (.web, "--host= --listen unix:page", EX_USAGE, "--host is empty"),
        (.web, #"--listen "unix:$(printf 'p\377')""#, EX_USAGE, #""unix:p\xff" is not UTF-8"#),
    ])
    func whatIsEmptyOrNoTextStartsNothing(
        product: BuiltProduct,
        words: String,
        status: CInt,
        sentence: String
    ) async throws {
        try await withTemporaryDirectory { directory in
            // One that starts all the same is ended.
            let script = "cd \(directory) && exec timeout 30 \(try product.path) \(words)"
            let ended = try await runTool(.name("sh"), ["-c", script])
            #expect(ended.status == .exited(status))
            #expect(ended.errors.contains(sentence), "\(ended.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }

    @Test func aVariableThatIsNoTextStartsNothing() async throws {
        try await withTemporaryDirectory { directory in
            let script = """
                cd \(directory) && export STATEMACHINE_RUNTIME_DIRECTORY="$(printf 'r\\377')"
                exec timeout 30 \(try BuiltProduct.statemachine.path) --ephemeral
                """
            let ended = try await runTool(.name("sh"), ["-c", script])
            #expect(ended.status == .exited(EX_USAGE))
            let sentence = #"variable STATEMACHINE_RUNTIME_DIRECTORY=r\xff is not UTF-8"#
            #expect(ended.errors.contains(sentence), "\(ended.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }

    @Test func allThatIsWrongWithTheConfigurationIsToldInOneLine() async throws {
        try await withIdleService { service in
            let path = "\(service.directory)/config.yaml"
            try "max-watches: many\ncolour: red\n".write(
                toFile: path,
                atomically: false,
                encoding: .utf8
            )
            let (message, errors, status) = try await service.refusal(["--config", path])
            let sentences = errors.split(separator: "\n").map { $0.dropFirst(14) }
            #expect(sentences.count == 2)
            #expect(message == "STATUS=\(sentences.joined(separator: "; "))\nEXIT_STATUS=78")
            #expect(message.contains("\(path):1: max-watches must be"))
            #expect(status == EX_CONFIG)
        }
    }

    @Test func aConfigurationThatCannotBeReadIsToldWithTheNumberOfTheError() async throws {
        try await withIdleService { service in
            let path = "\(service.directory)/none.yaml"
            let (message, _, status) = try await service.refusal(["--config", path])
            #expect(
                message == "STATUS=cannot read \(path): No such file or directory\n"
                    + "EXIT_STATUS=78\nERRNO=\(ENOENT)"
            )
            #expect(status == EX_CONFIG)
        }
    }

    @Test func aStateDirectoryOfAnotherDaemonIsTold() async throws {
        try await withService(isDurable: true) { service, daemon in
            try await withIdleService { other in
                let state = ["--state-directory", service.state]
                let (message, errors, status) = try await other.refusal(state)
                let sentence = "\(service.state)/statemachine.lock is locked by another "
                #expect(message.hasPrefix("STATUS=\(sentence)daemon (pid \(daemon.pid)); "))
                #expect(message.hasSuffix("\nEXIT_STATUS=78"))
                #expect(errors.contains(sentence))
                #expect(status == EX_CONFIG)
            }
        }
    }

    @Test func aStateDirectoryThatCannotBeIsToldWithTheNumberOfTheError() async throws {
        try await withIdleService { service in
            let file = "\(service.directory)/file"
            try "".write(toFile: file, atomically: false, encoding: .utf8)
            let state = ["--state-directory", "\(file)/state"]
            let (message, _, status) = try await service.refusal(state)
            #expect(
                message == "STATUS=cannot create the state directory \(file)/state: "
                    + "Not a directory\nEXIT_STATUS=78\nERRNO=\(ENOTDIR)"
            )
            #expect(status == EX_CONFIG)
        }
    }

    /// A test that waits for READY=1 of a daemon that does not start.
    @Test func whoWaitsForADaemonThatEndsHearsWhatItSaid() async throws {
        try await withIdleService { service in
            let state = "\(service.directory)/no/such/directory"
            let daemon = try service.spawn(["--state-directory", state])
            let failure = await #expect(throws: TestFailure.self) {
                try await service.notify.wait(for: "READY=1")
            }
            #expect(
                failure?.description.contains("process \(daemon.pid) ended before READY=1") == true
            )
            #expect(failure?.description.contains("no/such/directory") == true)
        }
    }

    /// The manager may belong to a daemon that runs.
    @Test func whoOnlyChecksOrAsksTellsNobody() async throws {
        try await withIdleService { service in
            for (arguments, expected) in [
                (["--check-config", "--config", "\(service.directory)/none.yaml"], EX_CONFIG),
                (["--help"], EXIT_SUCCESS), (["--version"], EXIT_SUCCESS),
                (["--colour"], EX_USAGE),
            ] {
                let daemon = try service.spawn(arguments)
                #expect(try await daemon.ended().status == expected)
            }
            // No message came before this one.
            #expect(try await service.notify.wait(for: "").hasPrefix("STATUS=Unknown option"))
        }
    }
}
