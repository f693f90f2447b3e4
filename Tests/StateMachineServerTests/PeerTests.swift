import StateMachineCore
import Testing

@testable import StateMachineServer

/// Whose things are whose.
struct PeerTests {
    @Test func whoHasNoUserOfItsOwnOwnsNothing() {
        let nobody = Peer(uid: Peer.overflowUid, pid: 1)
        let (root, one) = (Peer(uid: 0, pid: 2), Peer(uid: 1000, pid: 3))
        #expect(!nobody.owns(Peer(uid: Peer.overflowUid, pid: 4)))
        #expect(root.owns(nobody) && root.owns(one))
        #expect(one.owns(Peer(uid: 1000, pid: 5)) && !one.owns(root) && !one.owns(nobody))
    }
}
