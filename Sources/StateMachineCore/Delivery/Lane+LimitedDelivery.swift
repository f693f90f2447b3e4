import Synchronization

/// What a lane with a limit takes out of an entry before delivering it.
///
/// An entry keeps alive all that follow it, so none may be held while a delegate is called, which
/// may take as long as it likes.
private struct Piece {
    enum Content {
        case nothing
        case change(Change)
        case question(Ballot)
        case missed(Missed)
    }

    let content: Content
    let position: UInt64
    let deliveryCount: DeliveryCount?
}

extension Lane {
    /// As ``deliver(atMost:)``, for a lane with a limit.
    func deliverPieces(atMost limit: Int) -> Int {
        var count = 0
        var hasDelivered = self.owesBurstEnd
        var hasGone = false
        while count < limit, let piece = self.takePiece() {
            count += 1
            if self.version.load(ordering: .sequentiallyConsistent) != self.heardVersion {
                self.refreshHeard()
            }
            var isHeard = false
            switch piece.content {
            case .nothing: break
            case .missed(let missed):
                hasDelivered = true
                for member in self.heard { member.hearMissed(missed) }
            case .change(let change):
                hasDelivered = true
                self.tell(
                    ChangeEntry(change),
                    at: piece.position,
                    to: self.called,
                    &isHeard,
                    &hasGone
                )
            case .question(let ballot): self.ask(ballot, at: piece.position)
            }
            if let deliveryCount = piece.deliveryCount {
                self.pass(deliveryCount, at: piece.position, hearing: isHeard)
            }
        }
        self.owesBurstEnd = hasDelivered
        if count < limit { self.endTurn() }
        if hasGone { self.sweep() }
        return count
    }

    private func takePiece() -> Piece? {
        let (entry, missed) = self.take()
        if let missed { return Piece(content: .missed(missed), position: 0, deliveryCount: nil) }
        guard let entry else { return nil }
        let content: Piece.Content =
            switch entry.kind {
            case .beginning, .mark: .nothing
            case .change: .change(self.change(of: entry))
            case .question: .question(self.ballot(of: entry))
            }
        return Piece(content: content, position: entry.position, deliveryCount: entry.deliveryCount)
    }
}
