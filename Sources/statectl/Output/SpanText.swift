/// A span of microseconds as people are shown it, short ones too: `12 µs`, `340 ms`, `4.2 s`, `3 min`.
enum SpanText {
    static func text(_ microseconds: Int64) -> String {
        switch microseconds {
        case ..<1000: "\(microseconds) µs"
        case ..<1_000_000: "\(microseconds / 1000) ms"
        case ..<10_000_000: "\(microseconds / 1_000_000).\(microseconds / 100_000 % 10) s"
        default: LineText.span(microseconds / 1_000_000)
        }
    }

    /// A share of a whole: `3.2 %`; something is never shown as nothing, nor less than all as all.
    static func percent(_ share: Double) -> String {
        let tenths = Int((share * 1000).rounded())
        if tenths == 0, share > 0 { return "<0.1 %" }
        if tenths == 1000, share < 1 { return ">99.9 %" }
        return "\(tenths / 10).\(tenths % 10) %"
    }
}
