import Foundation
import Testing

@testable import StateMachineCore

/// Serialized: the whole process shares the list of programs that have set recently.
@Suite(.serialized)
struct CompactPeerTests {
    private func transition(by peer: Peer) -> Transition<AppState> {
        Transition(seq: 1, old: .ready(false), new: .ready(true), at: .now, by: peer)
    }

    @Test("a change knows what program made it, until as many others have set as are kept")
    func forgotten() {
        let deploy = Peer(uid: 1000, pid: 7, comm: "deploy", unit: "deploy.service")
        let change = self.transition(by: deploy)
        func others(_ count: Int) {
            for number in 0..<count {
                _ = self.transition(by: Peer(uid: 1000, pid: 8, comm: "other\(number)"))
            }
        }
        // Other tests use programs of their own meanwhile, but not thousands.
        others(RecentPrograms.capacity / 2)
        #expect(change.by == deploy)
        others(RecentPrograms.capacity / 2)
        #expect(change.by == Peer(uid: 1000, pid: 7))
        // Its next transition has the program again, which is now one of the recent ones.
        let next = self.transition(by: deploy)
        #expect(next.by?.comm == "deploy")
        #expect(next.by?.unit == "deploy.service")
    }

    @Test("a program that makes many changes is one of those that are kept")
    func counted() {
        let first = self.transition(by: Peer(uid: 1000, pid: 7, comm: "first"))
        let busy = Peer(uid: 1000, pid: 8, comm: "busy")
        for _ in 0..<2 * RecentPrograms.capacity { _ = self.transition(by: busy) }
        #expect(first.by?.comm == "first")
    }

    @Test("changes of equal peers are equal, whichever connection they came from")
    func equality() {
        let at = WallTime.now
        func change(_ comm: String?) -> Transition<AppState> {
            Transition(
                seq: 1,
                old: .ready(false),
                new: .ready(true),
                at: at,
                by: Peer(uid: 1000, pid: 7, comm: comm)
            )
        }
        #expect(change("tool") == change("tool"))
        #expect(change("tool").hashValue == change("tool").hashValue)
        #expect(change("tool") != change("other"))
        #expect(change("tool") != change(nil))
        #expect(change(nil) == change(nil))
    }

    @Test("a change is written with its peer as it always was")
    func coding() throws {
        let change = self.transition(by: Peer(uid: 1000, pid: 7, comm: "tool", unit: "x.service"))
        let data = try JSONEncoder().encode(change)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(
            Set(object.keys) == ["seq", "old", "new", "at", "by", "stay"],
            "without a cause"
        )
        let by = try #require(object["by"] as? [String: Any])
        #expect(by["pid"] as? Int == 7)
        #expect((by["program"] as? [String: String])?["unit"] == "x.service")
        let read = try JSONDecoder().decode(Transition<AppState>.self, from: data)
        #expect(read == change)
        #expect(read.by?.comm == "tool")
    }

    @Test("many threads find the programs that they have given")
    func threads() async {
        await withTaskGroup(of: Bool.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    (0..<500).allSatisfy { number in
                        let comm = "worker\(worker)-\(number)"
                        return CompactPeer(Peer(uid: 1, pid: 2, comm: comm)).peer.comm == comm
                    }
                }
            }
            for await isKnown in group { #expect(isKnown) }
        }
    }
}
