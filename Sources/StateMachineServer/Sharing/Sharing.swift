import StateMachineCore
import StateMachineProtocol

/// What a server knows of the machine that it shares with other hosts: whether it shows what all have, and takes changes.
///
/// Belongs to the event loop.
final class Sharing {
    let engine: any MachineSharing
    /// Why what is shown may be old, or cannot be changed; nil: it is what all have.
    private(set) var trouble: SharingTrouble? = .engine
    /// Why no member of the engine can be reached, each in a sentence.
    private var unreachable: [String] = []
    /// What is wrong with a value in the engine; nil: nothing.
    private var damage: String?
    /// Whether it is known where the machine is.
    private(set) var isPlaced = false
    /// What waits for that.
    private var waiting: [() -> Void] = []
    /// What waits until the machine is as all have it.
    private var waitingForUp: [() -> Void] = []

    init(_ engine: any MachineSharing) { self.engine = engine }

    /// Holds that have a name.
    var names: SharedNames { SharedNames(self.engine) }

    /// How old what is shown may be, while that is not what all have.
    var staleMs: Int64? { self.trouble == nil ? nil : self.engine.ageMs }

    /// What keeps the machine from being changed, for people; nil: nothing.
    var sentence: String? {
        guard let trouble else { return nil }
        if trouble == .layout {
            return self.damage ?? "a later program has written the machine; upgrade this one"
        }
        let others = self.unreachable.joined(separator: "; ")
        return trouble <= .engine && !others.isEmpty
            ? "\(trouble.sentence): \(others)" : trouble.sentence
    }

    func happened(_ news: SharingNews) {
        switch news {
        case .up:
            self.trouble = nil
            for body in exchange(&self.waitingForUp, with: []) { body() }
        case .down(let trouble): self.trouble = trouble
        case .unreachable(let troubles): self.unreachable = troubles
        case .damaged(let damage): self.damage = damage
        case .tookOver, .asked, .askEnded, .voterWent, .sessionEnded, .over, .lacksSettings,
            .oldEngine, .restarted, .missed, .setAside:
            break
        }
    }

    /// Why a request cannot be carried out here and now; nil if it may be.
    func objection(to operation: Operation) -> WireError? {
        switch operation {
        case .describe, .help, .unwatch, .stats, .hosts: return nil
        // Its number is of this life of the daemon, which knows by then what it had in an earlier one.
        case .hold where self.isPlaced && self.trouble != nil,
            .guard where self.isPlaced && self.trouble != nil:
            return WireError(
                .unavailable,
                "the \(operation.rawValue) was not taken: \(self.sentence ?? "this host has just started")"
            )
        case .get, .set, .send, .update, .watch, .wait, .hold, .guard, .release, .vote, .history,
            .ping,
            .reload:
            return self.isPlaced ? nil : WireError(.unavailable, self.refusal)
        }
    }

    /// The refusal of what a quorum has to confirm, and cannot.
    func refusal(because trouble: SharingTrouble) -> WireError {
        let why = self.trouble == trouble ? self.sentence : trouble.sentence
        return WireError(.unavailable, why ?? trouble.sentence)
    }

    /// What is said before it is known where the machine is.
    private var refusal: String {
        "this host has not seen the machine yet: \(self.sentence ?? "it has just started")"
    }

    /// Runs `body` once it is known where the machine is, which may be now.
    func whenPlaced(_ body: @escaping () -> Void) {
        if self.isPlaced { body() } else { self.waiting.append(body) }
    }

    /// Runs `body` once what is shown here is what all have, which may be now.
    func whenUp(_ body: @escaping () -> Void) {
        if self.trouble == nil { body() } else { self.waitingForUp.append(body) }
    }

    /// Notes that it is known where the machine is.
    func placed() {
        guard !self.isPlaced else { return }
        self.isPlaced = true
        for body in exchange(&self.waiting, with: []) { body() }
    }
}
