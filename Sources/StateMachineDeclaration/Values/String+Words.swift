extension String {
    /// The words between spaces, tabs and line ends.
    var splitAtWhiteSpace: [String] {
        self.utf8.split { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.map { String(Substring($0)) }
    }
}
