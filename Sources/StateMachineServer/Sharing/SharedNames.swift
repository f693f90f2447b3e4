import StateMachineCore
import StateMachineProtocol

/// Holds with a name of a machine that hosts share: they belong to no connection and no session, and the engine has them.
///
/// Each host goes by them until their time is over, by its wall clock. They are renewed and released at the host where they were taken.
struct SharedNames {
    private let engine: any MachineSharing

    init(_ engine: any MachineSharing) { self.engine = engine }

    /// Those of this host.
    var own: [KeptVoter] { self.all.filter { $0.host == self.engine.host }.map(\.record) }

    /// The highest number that one of this host has; nil if it has none.
    var highestNumber: UInt64? {
        // Also of those whose time is over, which are there until that is recorded.
        self.engine.foreignVoters.filter { $0.host == self.engine.host }.map(\.record.number).max()
    }

    private var all: [ForeignVoter] {
        let now = WallTime.now
        return self.engine.foreignVoters.filter { $0.record.name != nil && !$0.isOver(at: now) }
    }

    /// Looks up what a client may renew.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - peer: who asks for it.
    ///   - coming: the one of this host that is on its way to the engine; nil: there is none.
    /// - Returns: the one of that name; nil: there is none.
    /// - Throws: if it is another user's or host's.
    func hold(
        _ name: String,
        by peer: Peer,
        or coming: KeptVoter?
    ) throws(WireError) -> KeptVoter? {
        let voter = self.first(of: name)
        if let voter, voter.host != self.engine.host {
            throw WireError(
                .forbidden,
                "the hold \(name) was taken at host \(voter.host.quoted); renew it there, or give another name"
            )
        }
        guard let record = coming ?? voter?.record else { return nil }
        guard peer.uid == record.peer.uid else {
            throw WireError(
                .forbidden,
                "the hold \(name) belongs to user \(record.peer.uid); give another name"
            )
        }
        return record
    }

    /// The one of that name: this host's, if two have taken one in the same moment.
    private func first(of name: String) -> ForeignVoter? {
        let voters = self.all.filter { $0.record.name == name }
        return voters.first { $0.host == self.engine.host } ?? voters.first
    }

    /// The one of that name, to be released.
    ///
    /// - Throws: if there is none here.
    func released(_ name: String) throws(WireError) -> KeptVoter {
        guard let voter = self.first(of: name) else {
            throw WireError(.notFound, "there is no hold \(name)")
        }
        guard voter.host == self.engine.host else {
            throw WireError(
                .notFound,
                "there is no hold \(name) at this host; the one of host \(voter.host) is released there"
            )
        }
        return voter.record
    }

    /// The one of this host that has that number; nil: there is none.
    func own(_ number: UInt64) -> KeptVoter? { self.own.first { $0.number == number } }
}
