import StateMachineCore

/// What a pump does.
enum Pump: EnumState {
    case idle
    case running(litresPerMinute: Int)
    case failed(code: Int)

    static var initial: Pump { .idle }
}

let pump = StateMachine<Pump>()
let registration = pump.addObserver { print("\($0.old) became \($0.new)") }
pump.state = .running(litresPerMinute: 12)
pump.state = .failed(code: 3)
registration.cancel()
