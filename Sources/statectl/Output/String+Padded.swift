extension String {
    /// Filled up with spaces to that many characters.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - self.count))
    }
}
