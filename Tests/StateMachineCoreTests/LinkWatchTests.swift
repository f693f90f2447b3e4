import StateMachineCore
import Testing

/// Which keys of `when` that name other machines happen, and in which order.
struct LinkWatchTests {
    private static let keys = ["w is empty", "w is low", "h is hot"]

    /// Tells what is seen as the keys that hold, of those of one machine.
    private func see(_ watch: inout LinkWatch, _ link: String, _ holding: String...) {
        _ = watch.saw(Self.keys.filter { $0.hasPrefix(link) }) { holding.contains($0) }
    }

    @Test func whatComesToMatchHappensOnceEachTime() throws {
        var watch = LinkWatch(stay: 3)
        self.see(&watch, "w", "w is empty")
        let first = watch.next()
        #expect(first?.stay == 3 && first?.key == "w is empty")
        let meanwhile = watch.next()
        #expect(meanwhile == nil)
        watch.happened(try #require(first))
        self.see(&watch, "w", "w is empty")
        let again = watch.next()
        #expect(again == nil)
        self.see(&watch, "w")
        self.see(&watch, "w", "w is empty")
        let second = watch.next()
        #expect(second?.key == "w is empty")
    }

    @Test func severalHappenInTheOrderInWhichTheyCame() throws {
        var watch = LinkWatch(stay: 0)
        self.see(&watch, "h", "h is hot")
        self.see(&watch, "w", "w is empty", "w is low")
        var order: [String] = []
        while let attempt = watch.next() {
            order.append(attempt.key)
            watch.happened(attempt)
        }
        #expect(order == ["h is hot", "w is empty", "w is low"])
    }

    @Test func whatIsDeniedLetsOthersPassAndHappensOnce() throws {
        var watch = LinkWatch(stay: 0)
        self.see(&watch, "w", "w is empty")
        self.see(&watch, "h", "h is hot")
        let first = watch.next()
        watch.failed(try #require(first))
        let second = watch.next()
        #expect(second?.key == "h is hot")
        watch.happened(try #require(second))
        // It comes and goes while it waits.
        for _ in 0..<1000 {
            self.see(&watch, "w")
            self.see(&watch, "w", "w is empty")
        }
        let early = watch.next()
        #expect(early == nil && watch.pending == ["w is empty"])
        watch.retry()
        let late = watch.next()
        watch.happened(try #require(late))
        let none = watch.next()
        #expect(none == nil && watch.pending.isEmpty)
    }

    @Test func aNewStayForgetsWhatWasDueAndLooksAgain() throws {
        var watch = LinkWatch(stay: 0)
        self.see(&watch, "w", "w is empty", "w is low")
        let first = watch.next()
        let attempt = try #require(first)
        watch.entered(5)
        self.see(&watch, "w", "w is empty")
        // What was tried in the stay before is not answered yet.
        let meanwhile = watch.next()
        #expect(meanwhile == nil)
        watch.failed(attempt)
        let next = watch.next()
        #expect(next?.stay == 5 && next?.key == "w is empty")
    }

    @Test func whatIsKeptGoesOnInTheSameStayOnly() throws {
        var watch = LinkWatch(stay: 2)
        self.see(&watch, "w", "w is empty", "w is low")
        let kept = watch.kept(["w": "e:7"], without: "w is empty")
        #expect(kept.matched == ["w is empty", "w is low"] && kept.due == ["w is low"])
        var later = LinkWatch(stay: 2, after: kept)
        self.see(&later, "w", "w is empty", "w is low")
        let due = later.next()
        #expect(due?.key == "w is low")
        later.happened(try #require(due))
        let none = later.next()
        #expect(none == nil)
        var other = LinkWatch(stay: 3, after: kept)
        self.see(&other, "w", "w is low")
        let anew = other.next()
        #expect(anew?.key == "w is low")
    }

    @Test func aFileThatNoLongerLooksForSomethingForgetsIt() {
        var watch = LinkWatch(stay: 0)
        self.see(&watch, "w", "w is empty", "w is low")
        watch.redeclared(["w is low"])
        let next = watch.next()
        #expect(next?.key == "w is low")
        #expect(watch.kept([:]).matched == ["w is low"])
    }
}
