/// Where somebody stands to be found by what a state carries: at a number, or at a bound of a line of numbers.
package struct Bucket: Hashable, Sendable {
    /// The number at which it is found; of a bound one that is made of the line and the bound.
    package let number: Int
    /// The line, and what a value on it has to reach; nil: it is at no line.
    fileprivate let place: Place?

    fileprivate struct Place: Hashable, Sendable {
        let line: Int
        let bound: Double
    }

    /// Found by that number.
    package init(_ number: Int) {
        self.number = number
        self.place = nil
    }

    /// Found by values of that line that reach the bound, which is not minus infinity.
    package init(on line: Int, at bound: Double) {
        self.place = Place(line: line, bound: bound)
        self.number = self.place.hashValue
    }
}

/// What a state reaches of a line: the bounds above one value and up to another, this one included.
package struct Stretch: Sendable {
    package let line: Int
    package let after: Double
    package let end: Double

    package init(on line: Int, after: Double, upTo end: Double) {
        self.line = line
        self.after = after
        self.end = end
    }

    /// Whether a bucket is on it.
    package func holds(_ bucket: Bucket) -> Bool {
        bucket.place.map {
            $0.line == self.line && self.after < $0.bound && $0.bound <= self.end
        } ?? false
    }
}

/// The bounds at which somebody stands, each once, in order: those on a stretch are found without a look at the others.
package struct StandingBounds: Sendable {
    private var lines: [Int: [Double]] = [:]

    package init() {}

    package var isEmpty: Bool { self.lines.isEmpty }

    /// Notes that the first one has come to stand at a bucket; one that is at no line is not noted.
    package mutating func add(_ bucket: Bucket) {
        guard let place = bucket.place else { return }
        // Not held meanwhile, so that it is changed in place.
        let index = self.lines[place.line]?.count(upTo: place.bound) ?? 0
        self.lines[place.line, default: []].insert(place.bound, at: index)
    }

    /// Notes that nobody stands at a bucket any more.
    package mutating func remove(_ bucket: Bucket) {
        guard let place = bucket.place,
            let count = self.lines[place.line]?.count(upTo: place.bound)
        else { return }
        self.lines[place.line]?.remove(at: count - 1)
        if self.lines[place.line]?.isEmpty == true { self.lines[place.line] = nil }
    }

    /// The buckets on a stretch.
    func buckets(on stretch: Stretch) -> [Bucket] {
        guard let bounds = self.lines[stretch.line], stretch.after < stretch.end else { return [] }
        return bounds[bounds.count(upTo: stretch.after)..<bounds.count(upTo: stretch.end)]
            .map { Bucket(on: stretch.line, at: $0) }
    }

    /// The last bucket on a stretch, which is removed at less cost than those before it; nil if there is none.
    package func last(on stretch: Stretch) -> Bucket? {
        guard let bounds = self.lines[stretch.line] else { return nil }
        let count = bounds.count(upTo: stretch.end)
        guard count > 0, bounds[count - 1] > stretch.after else { return nil }
        return Bucket(on: stretch.line, at: bounds[count - 1])
    }
}

extension [Double] {
    /// How many are at most `bound`; they are in order.
    fileprivate func count(upTo bound: Double) -> Int {
        var (low, high) = (0, self.count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= bound { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
