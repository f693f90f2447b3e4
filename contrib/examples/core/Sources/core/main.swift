import StateMachineCore

/// What a pump does.
enum Pump: EnumState {
    case idle
    case running(litresPerMinute: Int)
    case failed(code: Int)

    static var initial: Pump { .idle }
    static var examples: [Pump] { [.idle, .running(litresPerMinute: 0), .failed(code: 0)] }
}

let pump = StateMachine<Pump>()
let registration = pump.addObserver { print("\($0.old) became \($0.new)") }
pump.state = .running(litresPerMinute: 12)
pump.state = .failed(code: 3)
registration.cancel()
