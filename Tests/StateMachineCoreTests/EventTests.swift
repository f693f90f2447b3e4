import StateMachineCore
import TestSupport
import Testing

private enum Turnstile: EnumState {
    case locked(coins: Int)
    case open
    case broken

    static let initial = Turnstile.locked(coins: 0)
    static var examples: [Turnstile] { [.locked(coins: 0), .open, .broken] }

    var successors: Set<Name> {
        switch self {
        case .locked: ["locked", "open", "broken"]
        case .open: ["locked"]
        case .broken: []
        }
    }

    static let coin: @Sendable (Turnstile) -> Turnstile? = { state in
        switch state {
        case .locked(let coins): coins == 2 ? .open : .locked(coins: coins + 1)
        case .open, .broken: nil
        }
    }
}

@Suite(.bounded) struct EventTests {
    private let machine = StateMachine<Turnstile>()

    @Test func anEventMakesWhatFollowsOfTheStateAtItsTurn() async throws {
        for _ in 0..<3 { try await self.machine.send("coin", becoming: Turnstile.coin) }
        #expect(self.machine.state == .open)
        let last = try await self.machine.send("push") { _ in .locked(coins: 0) }
        guard case .committed(let transition) = last else {
            Issue.record("nothing followed")
            return
        }
        #expect(transition.cause == "push")
        #expect(transition.old == .open)
    }

    @Test func manyAtOnceAreOneAfterTheOther() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await self.machine.send("coin") { state in
                        if case .locked(let coins) = state {
                            .locked(coins: coins + 1)
                        } else {
                            nil
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(self.machine.state == .locked(coins: 100))
        #expect(self.machine.snapshot.seq == 100)
    }

    @Test func whereItMeansNothingNothingHappens() async throws {
        self.machine.state = .open
        let answer = try await self.machine.send("coin", becoming: Turnstile.coin)
        #expect(answer == .unchanged(self.machine.snapshot))
        #expect(self.machine.snapshot.seq == 1)
    }

    @Test func itIsNoWayPastTheRulesAndTheErrorNamesThem() async {
        self.machine.state = .open
        await #expect {
            try await self.machine.send("kick") { _ in .broken }
        } throws: { error in
            "\(error)" == "the state may not follow open; allowed: locked"
        }
        self.machine.state = .locked(coins: 1)
        self.machine.state = .broken
        await #expect {
            try await self.machine.propose(.open)
        } throws: { error in
            "\(error)" == "the state may not follow broken; nothing may follow it"
        }
    }

    @Test func votersAreAskedAboutIt() async {
        self.machine.addVoter(label: "till", on: .immediate) { proposal in
            proposal.cause == "coin" ? .no("the till is full") : .yes
        }
        await #expect {
            try await self.machine.send("coin", becoming: Turnstile.coin)
        } throws: { error in
            "\(error)" == "till: the till is full"
        }
    }
}

@Suite(.bounded) struct EnterExitTests {
    @Test func enteringAndLeavingAreToldForEachStay() {
        let machine = StateMachine<Turnstile>()
        let heard = Recorder<String>()
        machine.onEnter("locked") { heard.record("in \($0.new)") }
        let leaving = machine.onExit("locked", "broken") { heard.record("out of \($0.old)") }
        machine.state = .locked(coins: 1)
        machine.state = .open
        machine.state = .locked(coins: 0)
        leaving.cancel()
        machine.state = .broken
        #expect(
            heard.heard == [
                "in locked(coins: 1)", "out of locked(coins: 0)", "out of locked(coins: 1)",
                "in locked(coins: 0)",
            ]
        )
    }
}
