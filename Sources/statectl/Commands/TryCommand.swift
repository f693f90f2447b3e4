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

            refused is what the machine does not take, and changes nothing. # begins a comment. Time passes only where the trace says so: with wait, up to a timeout, \
            and between retries; how often a run is tried again, and where its end leads, is as it will be with \
            statemachine-runner. Exit codes: 0 as expected, 1 not, 78 the file has errors.
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
