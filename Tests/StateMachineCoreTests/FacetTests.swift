import TestSupport
import Testing

@testable import StateMachineCore

private protocol Appearing: AnyObject, Sendable {
    func appeared(_ enemy: String)
}

private protocol Vanishing: AnyObject, Sendable {
    func vanished(_ enemy: String)
}

/// Knows only the first facet; it was written before the second.
private final class OldWatcher: Appearing {
    let seen = Recorder<String>()
    func appeared(_ enemy: String) { self.seen.record(enemy) }
}

private final class NewWatcher: Appearing, Vanishing {
    let seen = Recorder<String>()
    func appeared(_ enemy: String) { self.seen.record("+\(enemy)") }
    func vanished(_ enemy: String) { self.seen.record("-\(enemy)") }
}

/// Has a method with the facet's name and type, but a different meaning.
private final class Namesake: Sendable {
    let seen = Recorder<String>()
    func appeared(_ enemy: String) { self.seen.record(enemy) }
}

private protocol Counting: Actor {
    func counted(_ number: Int)
}

private actor Counter: Counting {
    nonisolated let seen = Recorder<Int>()
    func counted(_ number: Int) { self.seen.record(number) }
}

/// What replaces selectors.
@Suite struct FacetTests {
    private let unheard = Recorder<String>()
    private let delegates: MulticastDelegate<AnyObject>

    init() {
        let unheard = self.unheard
        self.delegates = MulticastDelegate { unheard.record($0) }
    }

    @Test func aNewFacetDisturbsNobodyWhoDoesNotKnowIt() {
        let (old, new) = (OldWatcher(), NewWatcher())
        self.delegates.add(old, on: .immediate)
        self.delegates.add(new, on: .immediate)
        #expect(self.delegates.broadcast((any Appearing).self) { $0.appeared("orc") } == 2)
        #expect(self.delegates.broadcast((any Vanishing).self) { $0.vanished("orc") } == 1)
        #expect(old.seen.heard == ["orc"])
        #expect(new.seen.heard == ["+orc", "-orc"])
        #expect(self.unheard.heard.isEmpty)
    }

    @Test func aMethodOfTheSameNameIsNoConformance() {
        let namesake = Namesake()
        self.delegates.add(namesake, on: .immediate)
        #expect(self.delegates.broadcast((any Appearing).self) { $0.appeared("elf") } == 0)
        #expect(namesake.seen.heard.isEmpty)
        #expect(self.unheard.heard.count == 1)
    }

    @Test func anActorIsCalledInItsIsolationInOrder() async {
        let counter = Counter()
        self.delegates.add(counter)
        self.delegates.add(counter)
        for number in 1...100 {
            self.delegates.broadcast((any Counting).self) {
                $0.assumeIsolated { $0.counted(number) }
            }
        }
        #expect(await counter.seen.wait(for: 100) == Array(1...100))
        self.delegates.remove(counter)
        #expect(self.delegates.count(of: (any Counting).self) == 0)
    }

    @Test func anObjectIsAskedOnceForEachFacet() {
        let watcher = NewWatcher()
        let recipient = Recipient(watcher, label: "watcher", retaining: false, missed: { _, _ in })
        let asked = Recorder<String>()
        for _ in 0..<100 {
            let appearing = recipient.responds(to: ObjectIdentifier((any Appearing).self)) { _ in
                asked.record("appearing")
                return true
            }
            let vanishing = recipient.responds(to: ObjectIdentifier((any Vanishing).self)) { _ in
                asked.record("vanishing")
                return false
            }
            #expect(appearing && !vanishing)
        }
        #expect(asked.heard == ["appearing", "vanishing"])
    }
}
