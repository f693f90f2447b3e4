import ArgumentParser
import StateMachineCore
import StateMachineDeclaration

struct TryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Play a trace against a machine's file.",
        discussion: """
            A trace has a step a line, and after -> the state that is expected then:

              send offer url=u version=2 -> downloading
              run ends 1 x6 -> idle result=refused
              run is killed by SIGSEGV
              run times out
              run is interrupted
              set maintenance who=me
              update volume=3 tries+=1
              wait 24h -> idle
              reboot -> idle
              set playing title=a -> refused

            "refused" is a request that the machine refuses; it changes nothing. # begins a comment. Time passes only \
            with wait, until a timeout, and between retries; a run is retried, and leads on, as with \
            statemachine-runner. Exit codes: 0 as expected, 1 not, 78 the file has errors.

            Examples:

              statectl try lamp.yaml lamp.trace
              echo "send move -> dim" | statectl try lamp.yaml /dev/stdin
            """
    )

    @Argument(help: "The file that declares the machine.", completion: .file(extensions: ["yaml"]))
    var file: String

    @Argument(help: "The trace.", completion: .file())
    var trace: String

    func run() throws {
        let declaration = try DeclaredMachine.declaration(self.file)
        let text = try DeclaredMachine.text(of: self.trace)
        do {
            let state = try Trace(text).run(on: declaration).state
            try StandardOutput.offer("as expected; at the end: \(state.written.printable)")
        } catch let failure as TraceFailure {
            StandardError.write(failure.text(in: self.trace).printable)
            throw ExitStatus.no
        }
    }
}
