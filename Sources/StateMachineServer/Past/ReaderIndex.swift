import NIOCore
import StateMachineCore
import StateMachineProtocol

/// The watches and waits of one user that have nothing to do until a state comes that they may want, found by what the
/// state carries.
///
/// They cost a setter nothing, and their user one look at each change, however many they are: the index is brought up to
/// the ring in the user's turn. Who rests here has come as far as the index has; who is found has come as far as the
/// change before, is judged, and may come to rest again.
///
/// Belongs to the event loop.
final class ReaderIndex {
    /// One of the places at which a reader stands: it has one for each bucket.
    fileprivate struct Stand {
        let reader: RestingCursor
        /// Which of the reader's places it is.
        let place: Int
    }

    /// The last change that was looked at.
    fileprivate(set) var seq: UInt64 = 0
    private var stands: [Int: [Stand]] = [:]
    /// The bounds among the buckets.
    private var bounds = StandingBounds()
    /// How many readers there are.
    private(set) var count = 0

    /// Looks at the changes that the ring has since, as far as there is time; returns whether it has come to the newest.
    func search(_ past: Past, by schema: Schema, until end: NIODeadline) -> Bool {
        let head = past.ring.head
        // What the ring has lost they are to be told, or to find in the history.
        if self.count > 0, !past.ring.reaches(back: self.seq) { self.wakeAll() }
        var steps = 0
        while self.count > 0, self.seq < head {
            let state = past.ring[self.seq + 1].change.new
            func wake(at number: Int) -> Bool {
                while let reader = self.stands[number]?.last?.reader {
                    // Those who are left are found by the same change when there is time again.
                    if steps >= Self.piece, NIODeadline.now() >= end { return false }
                    steps += reader.places.count
                    reader.wake()
                }
                return true
            }
            for number in schema.readerBuckets(of: state) {
                guard wake(at: number) else { return false }
            }
            if !self.bounds.isEmpty {
                for stretch in schema.readerStretches(of: state) {
                    while let bucket = self.bounds.last(on: stretch) {
                        guard wake(at: bucket.number) else { return false }
                    }
                }
            }
            self.seq += 1
            steps += 1
            guard steps >= Self.piece else { continue }
            if NIODeadline.now() >= end { break }
            steps = 0
        }
        if self.count == 0 { self.seq = head }
        return self.seq == head
    }

    /// How many changes are looked at, and places are left, between two looks at the clock.
    ///
    /// 32: some 20 µs.
    private static let piece = 32

    /// How many places a reader may have.
    ///
    /// 64: as many as a request may have patterns; a group has one for each of its states. Who would have more is judged
    /// by each change, so that a short request does not fill the memory.
    private static let mostPlaces = 64

    /// The buckets at which a reader may stand; nil: none, for it may be found anywhere, or at too many.
    static func places(_ buckets: Set<Bucket>?) -> Set<Bucket>? {
        guard let buckets, !buckets.isEmpty, buckets.count <= self.mostPlaces else { return nil }
        return buckets
    }

    /// Has a reader rest, if it has come as far as the index has.
    fileprivate func add(_ reader: RestingCursor, at buckets: Set<Bucket>) -> Bool {
        if self.count == 0 { self.seq = reader.seq }
        guard reader.seq == self.seq else { return false }
        self.count += 1
        for (place, bucket) in buckets.enumerated() {
            let row = self.stands[bucket.number]?.count ?? 0
            if row == 0 { self.bounds.add(bucket) }
            reader.places.append((bucket, row))
            self.stands[bucket.number, default: []].append(Stand(reader: reader, place: place))
        }
        return true
    }

    /// Takes a reader out; the last one of each bucket takes its place there.
    fileprivate func remove(_ reader: RestingCursor) {
        self.count -= 1
        for (bucket, row) in reader.places {
            guard let last = self.stands[bucket.number]?.popLast() else { continue }
            if last.reader !== reader {
                self.stands[bucket.number]?[row] = last
                last.reader.places[last.place].row = row
            }
            guard self.stands[bucket.number]?.isEmpty == true else { continue }
            self.stands[bucket.number] = nil
            self.bounds.remove(bucket)
        }
        reader.places = []
    }

    /// Wakes all: they have to be judged by something other than the next change.
    func wakeAll() {
        self.bounds = StandingBounds()
        for stand in exchange(&self.stands, with: [:]).values.joined() { stand.reader.wake() }
    }
}

/// How far a reader has come, which may rest meanwhile.
///
/// Belongs to the event loop.
class RestingCursor {
    /// Where it rests; nil: nowhere.
    private var index: ReaderIndex?
    /// The last change that it has come to by itself.
    private var own: UInt64
    /// Whose connection has a turn when it wakes.
    private var output: Output?
    /// The buckets at which it stands, and where there.
    fileprivate var places: [(bucket: Bucket, row: Int)] = []

    init(after seq: UInt64) { self.own = seq }

    /// The last change that the reader was sent or has looked at, or that does not concern it.
    var seq: UInt64 {
        get { self.index?.seq ?? self.own }
        set {
            self.leave()
            self.own = newValue
        }
    }

    /// Whether there is something up to `head` that it has to look at; who rests is found if there is.
    func isBehind(_ head: UInt64) -> Bool { self.index == nil && self.own < head }

    /// Whether it waits to be found.
    var isResting: Bool { self.index != nil }

    /// Rests until a state comes that is found at one of these buckets, if the user's index has come as far as this.
    func rest(at buckets: Set<Bucket>?, of output: Output) {
        guard self.index == nil, let places = ReaderIndex.places(buckets) else { return }
        let index = output.user.readers
        guard index.add(self, at: places) else { return }
        (self.index, self.output) = (index, output)
    }

    /// Rests no longer.
    func leave() {
        guard let index = self.index else { return }
        self.own = index.seq
        index.remove(self)
        (self.index, self.output) = (nil, nil)
    }

    /// Rests no longer, and has its connection go on with the next change.
    fileprivate func wake() {
        guard let output = self.output else { return }
        self.leave()
        output.hasFound(at: self.own + 1)
    }
}
