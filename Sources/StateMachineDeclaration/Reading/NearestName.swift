/// Finds the name that was probably meant.
enum NearestName {
    /// Up to how many names are listed where none is near.
    ///
    /// 24: two lines of a terminal.
    static let listed = 24

    /// The candidate that is fewest edits away from `name`, if they are few.
    static func of(_ name: String, among candidates: [String]) -> String? {
        // Names have up to 64 characters; what is longer is no misspelt name.
        guard name.utf8.count <= 80 else { return nil }
        let letters = Self.letters(name)
        // A third of the letters wrong, and it is another word.
        let allowed = max(1, letters.count / 3)
        var nearest: (name: String, edits: Int)?
        for candidate in candidates {
            let other = Self.letters(candidate)
            guard abs(other.count - letters.count) <= allowed else { continue }
            let edits = Self.edits(from: letters, to: other)
            guard edits <= allowed, edits < nearest?.edits ?? .max else { continue }
            nearest = (candidate, edits)
        }
        guard let nearest, letters.count > 1 else { return nil }
        return nearest.name
    }

    private static func letters(_ name: String) -> [UInt8] {
        name.lowercased().utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }
    }

    /// The Levenshtein distance, two letters that have changed places counting once.
    private static func edits(from old: [UInt8], to new: [UInt8]) -> Int {
        var earlier: [Int] = []
        var last = Array(0...new.count)
        for (index, letter) in old.enumerated() {
            var row = [index + 1]
            for (column, other) in new.enumerated() {
                let substituted = last[column] + (letter == other ? 0 : 1)
                var edits = min(substituted, row[column] + 1, last[column + 1] + 1)
                if index > 0, column > 0, letter == new[column - 1], old[index - 1] == other {
                    edits = min(edits, earlier[column - 1] + 1)
                }
                row.append(edits)
            }
            earlier = last
            last = row
        }
        return last[new.count]
    }
}
