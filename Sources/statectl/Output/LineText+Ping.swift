import StateMachineClient

extension LineText {
    /// The reply to `ping`: `answered in 0.42 ms   #41`.
    func answer(_ line: Line, after duration: Duration) -> String {
        let hundredths = Int64((duration / .microseconds(10)).rounded())
        let fraction = String(hundredths % 100)
        let zero = fraction.count < 2 ? "0" : ""
        let time = "answered in \(hundredths / 100).\(zero)\(fraction) ms"
        return time + (line.seq.map { "   " + self.style.text("#\($0)", as: .aside) } ?? "")
    }
}
