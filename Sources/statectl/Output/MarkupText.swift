import StateMachineCore

extension String {
    /// The text for use between tags and in attributes of XML, at most that many characters of it,
    /// with unprintable characters escaped.
    func markup(atMost count: Int = 400) -> String {
        // A character may have any number of marks on it; counting scalars bounds the bytes too.
        var text = ""
        for scalar in self.unicodeScalars.prefix(count) {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            case "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
            default:
                if scalar.isUnprintable {
                    text += "\\u{\(String(scalar.value, radix: 16))}"
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        return self.unicodeScalars.count > count ? text + "…" : text
    }
}
