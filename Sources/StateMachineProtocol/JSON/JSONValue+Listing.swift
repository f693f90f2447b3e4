extension [JSONValue] {
    /// The values as JSON, with commas between.
    package var listed: String {
        self.map { value in
            var bytes: [UInt8] = []
            bytes.append(json: value)
            return String(decoding: bytes, as: UTF8.self)
        }
        .joined(separator: ", ")
    }
}
