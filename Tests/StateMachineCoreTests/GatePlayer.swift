import TestSupport

@testable import StateMachineCore

/// Plays a machine with its gate: voters, a log and a cursor do what a script says, on one thread.
///
///     machine [log] [confirms] [fits=N] [room=N] [at=STATE|at=nowhere]
///                                             begins; with a log, which may confirm answers, or take so many records
///                                             at once, or with room for so many that wait; or nobody knows where
///     propose P STATE [if=SEQ] [at=cursor] [limited=no] [needs=yes] [nobody=no] [again=yes] [update=yes]
///                                             P proposes a state, under conditions:
///                                             if       only where the machine is at that seq
///                                             at       it is answered at the cursor
///                                             limited  no: it takes no room
///                                             needs    yes: one yes is needed, and suffices
///                                             nobody   no: it is refused if there is nobody to ask
///                                             again    yes: even the same state is entered
///                                             update   yes: the stay goes on
///     assign P STATE                          the same, and asks nobody
///     touch P [asks=nobody]                   P has the deadline of the stay begin anew
///     recast P [STATE]                        has the state made anew, as one that looks the same, or as that one
///     set STATE                               sets at once, past the gate; only without a log
///     at-once STATE                           sets at once, unless that would have to wait for anybody
///     withdraw P                              P no longer wants it
///     withdraw-waiting P                      the same, if its turn has not come
///     settled D                               D is called when all that has been evaluated is over
///     gather, release                         more is about to come; it has come
///     voter A [STATE …] [at=STATE]            A wants to be asked about changes to those states, or about all; it
///                                             stands where changes to that state are found, or is asked about all
///     stand A STATE …                         A stands where changes to those states are found
///     vote A yes|no WHY|abstain               A answers the question that it has
///     forget A                                A lets go of its question without an answer
///     gone A                                  A's registration ends
///     log ok, log fails WHY, log unsure WHY   the log answers the group that it has
///     log overtaken [STATE …]                 the same: others have moved the machine there first
///     log objects WHY, log takes              it would commit nothing from now on; it would again
///     adopt [STATE …] [after=SEQ]             others have moved the machine there, while the log had no group, or have
///                                             added voters
///     arrive STATE SEQ                        the same: the machine is there, and nobody knows how it came there
///     renew-elsewhere                         others have the times of its stay begin anew
///     record R …                              these are in force, and are to be recorded together
///     note R                                  the same, and nobody is told
///     cursor, run, uncursor                   somebody follows on a context of its own; that runs; the registration ends
///     upon LINE: COMMAND                      does this in the very moment when a line that begins so is said
///     show                                    where the machine is, and what the log has
///
/// `@unchecked Sendable`: one thread plays it.
final class GatePlayer: ScriptPlayer, @unchecked Sendable {
    let transcript = ScriptTranscript()
    private let starts = StayStarts(
        StayStart(stay: 0, moment: KernelClock().moment),
        clock: KernelClock()
    )
    private var machine = Machine(at: .off, room: 9, log: nil)
    private var log: ScriptedLog?
    private var proposals: [String: Machine.Proposal] = [:]
    private var voters: [String: Registration] = [:]
    private var asks: [String: Ask] = [:]
    private var following: (registration: Registration, cursor: Drain)?
    private let jobs = Recorder<@Sendable () -> Void>()
    private var jobsRun = 0

    static var commands: [String: (GatePlayer) -> (ScriptCommand) -> Void] {
        [
            "machine": GatePlayer.begin,
            "propose": { player in { player.propose($0, asking: $0.question) } },
            "assign": { player in { player.propose($0, asking: nil) } },
            "touch": GatePlayer.touch,
            "recast": GatePlayer.recast,
            "set": { player in { player.enterAtOnce($0, asking: nil) } },
            "at-once": { player in { player.enterAtOnce($0, asking: Question()) } },
            "withdraw": { player in { player.withdraw($0, machine: Machine.withdraw(_:)) } },
            "withdraw-waiting": { player in
                { player.withdraw($0, machine: Machine.withdraw(ifWaiting:)) }
            },
            "settled": GatePlayer.settled,
            "gather": { player in { _ in player.machine.beginGathering() } },
            "release": { player in { _ in player.machine.endGathering() } },
            "voter": GatePlayer.addVoter,
            "stand": { player in
                { command in
                    let states = command.rest(from: 1).split(separator: " ")
                    let buckets = states.map { Bucket(Light.value(String($0)).light.bucket) }
                    player.voters[command[0]]?.move(to: Set(buckets))
                }
            },
            "vote": GatePlayer.vote,
            "forget": { player in { player.asks[$0[0]] = nil } },
            "gone": { player in { player.voters[$0[0]]?.cancel() } },
            "log": GatePlayer.tellOfLog,
            "adopt": { player in
                {
                    let isCrossed = player.machine.adopt(player.changes($0, from: 0))
                    if isCrossed { player.say("a group that does not know of it is on its way") }
                }
            },
            "arrive": { player in
                {
                    let isCrossed = player.machine.adopt([player.arrival($0)])
                    if isCrossed { player.say("a group that does not know of it is on its way") }
                }
            },
            "renew-elsewhere": { player in
                { _ in
                    let isCrossed = player.machine.adopt([player.renewal()])
                    if isCrossed { player.say("a group that does not know of it is on its way") }
                }
            },
            "record": GatePlayer.record,
            "note": { player in { player.machine.note(.voter(.scripted(UInt64($0[0]) ?? 0))) } },
            "cursor": GatePlayer.follow,
            "run": GatePlayer.runCursor,
            "uncursor": { player in { _ in player.following?.registration.cancel() } },
            "upon": GatePlayer.react,
            "show": GatePlayer.show,
        ]
    }

    private func say(_ line: String) { self.transcript.say(line) }

    private func begin(_ command: ScriptCommand) {
        self.log =
            command.has("log")
            ? ScriptedLog(
                self.transcript,
                confirming: command.has("confirms"),
                taking: command["fits"].flatMap { Int($0) } ?? .max
            ) : nil
        self.machine = Machine(
            at: Light(rawValue: command["at"] ?? "") ?? .off,
            room: Int(command["room"] ?? "") ?? 9,
            log: self.log,
            isPlaced: command["at"] != "nowhere"
        )
        let transcript = self.transcript
        let hearing = CallingMember.Calls(change: { _, entry in
            transcript.say("told \(entry.change.place.shown)")
            return true
        })
        _ = self.machine.register(CallingMember(hearing), on: .immediate)
        self.machine.findVoters { [$0.proposed.light.bucket] }
    }

    private func propose(_ command: ScriptCommand, asking question: Question?) {
        let name = command[0]
        let new = Light.value(command[1])
        let transcript = self.transcript
        let (isAgain, isUpdate) = (command["again"] != nil, command["update"] != nil)
        let move = Move(
            to: .made { base throws(Refused) in
                transcript.say("evaluate \(name) at \(base.shown)\(base.shownRenewals)")
                let next = try base.following(new)
                if isUpdate { return .keep(next) }
                return base.value.equals(next) && !isAgain ? .nothing(.same) : .enter(next)
            },
            if: Move.Condition(seq: command["if"].flatMap { UInt64($0) }),
            cause: name
        )
        self.proposals[name] = self.machine.propose(
            move,
            asking: question,
            at: command["at"] == nil ? nil : self.following?.cursor,
            isLimited: command["limited"] == nil
        ) { transcript.say("\(name): \($0.shown)") }
    }

    private func touch(_ command: ScriptCommand) {
        let (name, transcript) = (command[0], self.transcript)
        let move = Move(
            to: .made(
                { base in
                    transcript.say("evaluate \(name) at \(base.shown)\(base.shownRenewals)")
                    return .renew(base.value, groups: [])
                },
                renewingIn: self.starts
            ),
            cause: name
        )
        let question = command["asks"] == nil ? Question() : nil
        self.proposals[name] = self.machine.propose(move, asking: question) {
            transcript.say("\(name): \($0.shown)")
        }
    }

    private func recast(_ command: ScriptCommand) {
        let name = command[0]
        let transcript = self.transcript
        let move = Move(
            to: .recast { base in
                transcript.say("recast \(base.shown)")
                let text = command[1].isEmpty ? base.value.text : command[1]
                return (Light.value(text), looksSame: text == base.value.text)
            },
            cause: name
        )
        self.proposals[name] = self.machine.propose(move, asking: nil) {
            transcript.say("\(name): \($0.shown)")
        }
    }

    private func enterAtOnce(_ command: ScriptCommand, asking question: Question?) {
        let move = Move(to: Light.value(command[0]), cause: command.name)
        let answer = self.machine.enterAtOnce(move, asking: question)
        self.say("\(command.name): \(answer?.shown ?? "it would have to wait")")
    }

    private func withdraw(
        _ command: ScriptCommand,
        machine withdraw: (Machine) -> (Machine.Proposal) -> Void
    ) {
        if let proposal = self.proposals[command[0]] { withdraw(self.machine)(proposal) }
    }

    private func settled(_ command: ScriptCommand) {
        let transcript = self.transcript
        self.machine.afterCommits { transcript.say("\(command[0]): settled") }
    }

    private func addVoter(_ command: ScriptCommand) {
        let name = command[0]
        let states = command.rest(from: 1).split(separator: " ").map { String($0) }
        self.voters[name] = self.machine.addVoter(
            Machine.Voter(label: name),
            on: .immediate,
            at: command["at"].map { [Bucket(Light.value($0).light.bucket)] },
            before: { states.isEmpty || states.contains($0.proposed.text) },
            { ask in
                self.asks[name] = ask
                let motion = ask.motion
                self.say(
                    "ask \(name) about \(motion.cause ?? ""): \(motion.current.shown) to \(motion.proposed.text)"
                )
            }
        )
    }

    private func vote(_ command: ScriptCommand) {
        let vote: Vote =
            switch command[1] {
            case "yes": .yes
            case "no": .no(command.rest(from: 2))
            default: .abstain
            }
        if self.asks[command[0]]?.vote(vote) != true { self.say("it does not count") }
    }

    private func follow(_ command: ScriptCommand) {
        let (transcript, jobs) = (self.transcript, self.jobs)
        let context = WatchedContext(isCurrent: false) { job in
            transcript.say("wake the cursor")
            jobs.record(job)
        }
        let (registration, cursor, _) = self.machine.follow(on: context) {
            transcript.say("cursor: \($0.place.shown)")
        }
        self.following = (registration, cursor)
    }

    private func runCursor(_ command: ScriptCommand) {
        for job in self.jobs.heard.dropFirst(self.jobsRun) {
            self.jobsRun += 1
            job()
        }
    }

    private func record(_ command: ScriptCommand) {
        let transcript = self.transcript
        let numbers = command.numbers(from: 0) ?? []
        self.machine.record(numbers.map { .voter(.scripted(UInt64($0))) }) { refusal in
            transcript.say(
                "voter \(command.rest(from: 0)): \(refusal.map(\.shown) ?? "recorded")"
            )
        }
    }

    private func tellOfLog(_ command: ScriptCommand) {
        switch command[0] {
        case "objects": self.machine.logObjects(because: command.rest(from: 1))
        case "takes": self.machine.logObjects(because: nil)
        default: self.log?.answer(self.end(command))
        }
    }

    private func end(_ command: ScriptCommand) -> Recorded {
        switch command[0] {
        case "ok": .committed
        case "overtaken": .overtaken(self.changes(command, from: 1))
        case "unsure": .unsure(command.rest(from: 1))
        default: .failed(command.rest(from: 1))
        }
    }

    /// The changes that lead from where the machine is through those states.
    private func changes(_ command: ScriptCommand, from index: Int) -> [Change] {
        var place = self.machine.place
        if let seq = command["after"].flatMap({ UInt64($0) }) {
            place = StateMachineCore.Place(seq: seq, value: place.value, at: .now, stay: seq)
        }
        return command.rest(from: index).split(separator: " ").map { word in
            let new = Light.value(String(word))
            let change = Move(to: new, cause: "others").change(
                from: place,
                to: new,
                beginsStay: true
            )
            place = change.place
            return change
        }
    }

    private func arrival(_ command: ScriptCommand) -> Change {
        let seq = UInt64(command[1]) ?? 0
        return Change(
            seq: seq,
            old: self.machine.place.value,
            new: Light.value(command[0]),
            at: .now,
            stay: seq,
            kind: .arrival
        )
    }

    private func renewal() -> Change {
        let place = self.machine.place
        return Change(
            seq: place.seq,
            old: place.value,
            new: place.value,
            at: place.at,
            stay: place.stay,
            renewals: place.renewals + 1,
            kind: .renewal
        )
    }

    private func react(_ command: ScriptCommand) {
        let parts = command.rest(from: 0).split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return self.say("upon what is to be done what?") }
        let then = ScriptCommand(parts[1])
        self.transcript.react(to: String(parts[0])) { self.perform(then) }
    }

    private func show(_ command: ScriptCommand) {
        let group = self.machine.groupUnderWay.map { "group \($0)" } ?? "nothing"
        self.say(
            "the machine is at \(self.machine.place.shown), stay \(self.machine.place.stay)\(self.machine.place.shownRenewals); the log has \(group)"
                + "; \(self.machine.hasVoters ? "there are" : "no") voters"
        )
    }
}

/// A log that answers when a script says so.
///
/// Guarded state: the answer to the group that it has, behind `done`.
private final class ScriptedLog: Recording {
    let confirms: Bool
    private let transcript: ScriptTranscript
    private let most: Int
    private let done = Lock<(@Sendable (Recorded) -> Void)?>(nil)

    /// `most`: how many records a group may have.
    init(_ transcript: ScriptTranscript, confirming confirms: Bool, taking most: Int) {
        self.transcript = transcript
        self.confirms = confirms
        self.most = most
    }

    func room(for records: [Record]) -> Int { self.most }

    var isCurrent: Bool { false }

    func record(_ group: [Record], done: @escaping @Sendable (Recorded) -> Void) {
        self.done.withLock { $0 = done }
        let shown = group.map(\.shown).joined(separator: ", ")
        self.transcript.say(group.isEmpty ? "confirm" : "commit \(shown)")
    }

    func settle(done: @escaping @Sendable (_ failure: String?) -> Void) { done(nil) }

    func answer(_ end: Recorded) { self.done.withLock { $0.take() }?(end) }
}

extension Machine {
    fileprivate convenience init(
        at state: Light,
        room: Int,
        log: (any Recording)?,
        isPlaced: Bool = true
    ) {
        var options = Options(proposalLimit: room)
        options.log = log
        options.isPlaced = isPlaced
        self.init(
            resuming: StateMachineCore.Place(seq: 0, value: TypedValue(state), at: .now, stay: 0),
            options: options
        )
    }
}

extension ScriptCommand {
    fileprivate var question: Question {
        Question(
            needingYes: self["needs"] != nil,
            deadline: nil,
            whenNobodyVotes: self["nobody"] == nil ? .yes : .no("nobody is there")
        )
    }
}

extension StateMachineCore.Place {
    /// How often the stay was renewed, as scripts show it.
    fileprivate var shownRenewals: String { self.renewals > 0 ? ", renewed \(self.renewals)" : "" }
}

extension KeptVoter {
    /// The hold of that number.
    fileprivate static func scripted(_ number: UInt64) -> KeptVoter {
        KeptVoter(number: number, name: nil, peer: Peer(uid: 0, pid: 0), request: [], since: .now)
    }
}

extension Record {
    /// As scripts show it.
    var shown: String {
        switch self {
        case .change(let change): "\(change.place.shown) (\(change.cause ?? ""))"
        case .voter(let voter): "voter \(voter.number)"
        case .voterEnded(let number): "voter \(number) has ended"
        case .stay(let start): "stay \(start.stay)"
        case .times(let value): "times of \(value.name)"
        case .links(let links): "links in stay \(links.stay)"
        case .declared(_, let seq): "declaration from \(seq)"
        }
    }
}

extension Move.Answer {
    /// As scripts show it.
    var shown: String {
        switch self {
        case .success(.committed(let change)): "entered \(change.place.shown)"
        case .success(.unchanged(let place, _)): "unchanged at \(place.shown)"
        case .failure(let refused): "refused, \(refused.reason.shown), at \(refused.current.shown)"
        }
    }
}

extension Refusal {
    fileprivate var shown: String {
        switch self {
        case .illegal: "illegal"
        case .conflict: "not as expected"
        case .denied(let denials):
            "denied by \(denials.map { "\($0.label): \($0.why)" }.joined(separator: ", "))"
        case .stale: "stale"
        case .notCommitted(let why): "not committed: \(why)"
        case .unsure(let why): "unsure: \(why)"
        case .overloaded: "no room"
        case .wouldWait: "it would wait"
        case .withdrawn: "withdrawn"
        }
    }
}
