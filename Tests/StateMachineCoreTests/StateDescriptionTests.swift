import StateMachineCore
import Testing

/// States as text.
struct StateDescriptionTests {
    private enum Job: EnumState {
        case idle
        case running(String, tries: Int?)
        case failed(code: Int)
        case paused(Bool)

        static let initial = Job.idle
        static var examples: [Job] {
            [.idle, .running("", tries: nil), .failed(code: 0), .paused(false)]
        }
    }

    @Test func aStateReadsAsItIsWritten() {
        #expect("\(Job.idle)" == "idle")
        #expect("\(Job.running("a \"b\"", tries: nil))" == #"running("a \"b\"", tries: nil)"#)
        #expect("\(Job.running("c", tries: 3))" == #"running("c", tries: 3)"#)
        #expect("\(Job.failed(code: 3))" == "failed(code: 3)")
        #expect("\(Job.paused(true))" == "paused(true)")
        #expect("\(AppState.authentication(.active))" == "authentication(phase: active)")
    }
}
