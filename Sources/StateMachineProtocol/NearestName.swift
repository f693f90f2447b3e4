/// Finds the name that was probably meant.
package enum NearestName {
    /// Up to how many names are listed where none is near.
    ///
    /// 32: three lines of a terminal.
    package static let listed = 32

    /// The most edits that still make a misspelling of a name.
    ///
    /// 6: comparing two names of 64 letters then looks at a thousand pairs, and three hundred names
    /// are compared in a fraction of a millisecond.
    private static let mostEdits = 6

    /// What to say about a name that is not among the known ones: the nearest, or all, or nothing.
    package static func remark(on name: String, among known: [String]) -> String {
        if let nearest = self.of(name, among: known) { return "; did you mean \(nearest)?" }
        guard !known.isEmpty, known.count <= self.listed else { return "" }
        return "; known: \(known.joined(separator: ", "))"
    }

    /// The candidate that is fewest edits away from `name`, if they are few.
    package static func of(_ name: String, among candidates: [String]) -> String? {
        // Names have up to 64 characters; what is longer is not a misspelled name.
        guard name.utf8.count <= 80 else { return nil }
        let letters = Self.letters(name)
        guard letters.count > 1 else { return nil }
        // With more than a third of the letters wrong, it is another word.
        var allowed = min(max(1, letters.count / 3), Self.mostEdits)
        var (nearest, rank) = (String?.none, 0)
        for candidate in candidates {
            let others = Self.letters(candidate)
            guard abs(others.count - letters.count) <= allowed,
                let edits = Self.edits(from: letters, to: others, atMost: allowed)
            else { continue }
            // If two are equally near, prefer one whose end was left out, and then the same length:
            // letters are swapped more often than one is missing.
            let isAsLong = others.count == letters.count
            let candidateRank = others.starts(with: letters) ? 2 : isAsLong ? 1 : 0
            guard nearest == nil || edits < allowed || candidateRank > rank else { continue }
            (nearest, rank) = (candidate, candidateRank)
            guard edits > 0 else { break }
            allowed = edits
        }
        return nearest
    }

    /// What is compared: ignores case and word separators.
    private static func letters(_ name: String) -> [UInt8] {
        name.utf8.compactMap { letter in
            switch letter {
            case UInt8(ascii: "_"), UInt8(ascii: "-"): nil
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter | 0x20
            default: letter
            }
        }
    }

    /// The Levenshtein distance, where swapping two adjacent letters counts once; nil if it exceeds
    /// `limit`, beyond which no pair of letters is looked at.
    private static func edits(from old: [UInt8], to new: [UInt8], atMost limit: Int) -> Int? {
        let far = limit + 1
        var earlier = [Int](repeating: far, count: new.count + 1)
        var last = (0...new.count).map { min($0, far) }
        var row = earlier
        for (index, letter) in old.enumerated() {
            let first = max(0, index - limit)
            let end = min(new.count, index + limit + 1)
            guard first < end || index < limit else { return nil }
            row[0] = min(index + 1, far)
            if first > 0 { row[first] = far }
            var least = row[first]
            for column in first..<max(first, end) {
                let other = new[column]
                var edits = last[column] + (letter == other ? 0 : 1)
                edits = min(edits, row[column] + 1, last[column + 1] + 1, far)
                if index > 0, column > 0, letter == new[column - 1], old[index - 1] == other {
                    edits = min(edits, earlier[column - 1] + 1)
                }
                row[column + 1] = edits
                least = min(least, edits)
            }
            if end < new.count { row[end + 1] = far }
            // A swap may still build on the row before.
            guard least <= limit || (last.min() ?? far) <= limit else { return nil }
            (earlier, last, row) = (last, row, earlier)
        }
        return last[new.count] <= limit ? last[new.count] : nil
    }
}
