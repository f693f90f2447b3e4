import StateMachineCore
import StateMachineProtocol

/// A recorded state, with its text where SQLite can read it: states recur, and copying the text for
/// each row would cost as much as the row.
final class WrittenState {
    /// Where its text is, while the object lives; a value, so that it counts no reference.
    struct Text {
        let name: UnsafeBufferPointer<CChar>
        let data: UnsafeBufferPointer<CChar>
    }

    let text: Text

    init(_ recorded: RecordedTransition.State) {
        self.text = Text(
            name: .allocate(copying: recorded.name),
            data: .allocate(copying: recorded.data)
        )
    }

    deinit {
        self.text.name.deallocate()
        self.text.data.deallocate()
    }
}
