import StateMachineCore
import StateMachineProtocol

extension EnumState {
    /// The state as a server has it.
    var encoded: Value {
        let value = TypedValue(self)
        _ = StateCoding<Self>().encoded(value)
        return value
    }
}
