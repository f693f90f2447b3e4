extension ProgramProfile {
    /// A sentence about a name that is not a key, with the key that may have been meant.
    func unknownKey(_ name: String) -> String {
        if Setting(rawValue: name) != nil {
            return
                "\(name) is for a daemon whose machine a file declares; the states of \(self.name) are its own"
        }
        let keys = self.settings.map(\.key)
        return "there is no setting \"\(name)\"; "
            + (Setting.nearest(to: name, among: keys).map { "did you mean \($0)?" }
                ?? "known: \(keys.joined(separator: ", "))")
    }
}

extension Setting {
    /// The candidate that is the fewest edits away from `name`, if they are few.
    static func nearest(to name: String, among candidates: [String]) -> String? {
        let name = name.lowercased().replacing("_", with: "-")
        let ranked = candidates.map { candidate in
            let normal = candidate.lowercased().replacing("_", with: "-")
            return (candidate: candidate, edits: self.edits(from: name, to: normal))
        }
        // With more than a third of the letters wrong, it is another word.
        return ranked.min { $0.edits < $1.edits }
            .flatMap { $0.edits * 3 <= name.count ? $0.candidate : nil }
    }

    /// The Levenshtein distance.
    private static func edits(from old: String, to new: String) -> Int {
        let new = Array(new)
        var row = Array(0...new.count)
        for (index, letter) in old.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in new.indices {
                let substituted = diagonal + (letter == new[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
            }
        }
        return row[new.count]
    }
}
