import Glibc
import StateMachineDeclaration
import Subprocess
import SystemPackage
import Systemd

/// A command as it is handed to the system.
struct ChildStart: Sendable {
    /// Why it did not begin.
    struct Failure: Error {
        /// The exit status that systemd uses for it: systemd.exec(5).
        let status: Int
        /// What is wrong, if it may succeed another time.
        var trouble: String?

        static let directory = Failure(status: 200)
        static let program = Failure(status: 203)
        static let group = Failure(status: 216)
        static let user = Failure(status: 217)
    }

    /// Where programs are looked for, as systemd does for a service.
    private static let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    private let configuration: Configuration
    private let input: [UInt8]
    /// How its processes will be recognised; their leader is not known yet.
    let session: ChildSession

    /// - Throws: ``Failure`` if there is no such user or group, or the file with the environment cannot be read.
    init(_ order: CommandOrder) async throws(Failure) {
        let command = order.command
        self.session = ChildSession(grace: command.stop)
        self.input = order.input
        let account = try ChildAccount.of(command)
        var variables = ["PATH": Self.path, "INVOCATION_ID": self.session.token]
        for name in ["LANG", "XDG_RUNTIME_DIR"] {
            // This user's values do not apply to another user.
            guard name == "LANG" || account == nil, let value = getenv(name) else { continue }
            variables[name] = String(cString: value)
        }
        variables.merge((account ?? .own())?.variables ?? [:]) { $1 }
        for variable in order.environment { variables[variable.name] = variable.value }
        if let path = command.environmentFile {
            guard let file = EnvironmentFile(path: path) else { throw .program }
            for variable in file.variables { variables[variable.name] = variable.value }
        }
        self.configuration = try await Self.configuration(
            order,
            account: account,
            variables: variables
        )
    }

    /// The configuration to start it with.
    private static func configuration(
        _ order: CommandOrder,
        account: ChildAccount?,
        variables: [String: String]
    ) async throws(Failure) -> Configuration {
        let name = order.words.first ?? ""
        var program: Executable = name.contains("/") ? .path(FilePath(name)) : .name(name)
        var arguments = Array(order.words.dropFirst())
        var variables = variables
        if let account {
            let path: FilePath
            do {
                path = try await program.resolveExecutablePath(in: Self.environment(variables))
            } catch {
                throw .program
            }
            program = .path(AccountChange.program)
            arguments = AccountChange.arguments(
                to: account,
                program: path.string,
                words: order.words
            )
            variables = AccountChange.environment(variables)
        }
        var options = PlatformOptions()
        options.createSession = true
        return Configuration(
            executable: program,
            arguments: Arguments(arguments),
            environment: Self.environment(variables),
            workingDirectory: FilePath(order.command.directory),
            platformOptions: options
        )
    }

    private static func environment(_ variables: [String: String]) -> Environment {
        .custom(
            Dictionary(
                uniqueKeysWithValues: variables.map {
                    (Environment.Key(stringLiteral: $0.key), $0.value)
                }
            )
        )
    }

    /// Runs it to its end; `started` is called with its session once it runs.
    func run(
        started: @Sendable @escaping (ChildSession) -> Void
    ) async throws(Failure) -> TerminationStatus {
        do {
            let input = FileDescriptor(rawValue: try SealedMemory.make(self.input, name: "change"))
            try input.seek(offset: 0, from: .start)
            let result = try await Subprocess.run(
                self.configuration,
                input: .fileDescriptor(input, closeAfterSpawningProcess: true),
                output: .currentStandardOutput,
                error: .currentStandardError
            ) { execution in
                started(self.session.led(by: execution.processIdentifier.value))
            }
            return result.terminationStatus
        } catch let error as SubprocessError {
            throw Failure(error)
        } catch {
            throw Failure(status: EXIT_FAILURE.status, trouble: "\(error)")
        }
    }
}

extension CInt {
    fileprivate var status: Int { Int(self) }
}

extension ChildStart.Failure {
    /// What the system's refusal means.
    fileprivate init(_ error: SubprocessError) {
        switch (error.code, error.underlyingError) {
        case (.failedToChangeWorkingDirectory, _): self = .directory
        case (.executableNotFound, _): self = .program
        case (.spawnFailed, .permissionDenied?), (.spawnFailed, .noSuchFileOrDirectory?),
            (.spawnFailed, .execFormatError?), (.spawnFailed, .argListTooLong?):
            self = .program
        case (.spawnFailed, .notPermitted?): self = .user
        default: self.init(status: Self.program.status, trouble: error.description)
        }
    }
}
