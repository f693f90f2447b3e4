import Synchronization

@testable import StateMachineCore

/// Plays the count of the votes on one question.
///
///     question [needs=yes] [nobody=no] VOTER[:yes|:no|:abstain] …
///                           asks those; what their silence counts as, yes if nothing is said
///     begin                 for a question that may have nobody to ask
///     vote A yes|no WHY|abstain
///     silent A              A's time is up
///     withdraw              the asker no longer wants to know
///     awaits A              whether A is waited for
final class TallyPlayer: ScriptPlayer {
    let transcript = ScriptTranscript()
    private var tally = VoteTally(Question(), voters: [:])
    /// Their numbers.
    private var voters: [String: UInt64] = [:]

    static var commands: [String: (TallyPlayer) -> (ScriptCommand) -> Void] {
        [
            "question": TallyPlayer.begin,
            "begin": { player in { _ in player.say(player.tally.begun()) } },
            "vote": { player in { player.vote($0, $0.vote) } },
            "silent": { player in { player.vote($0, nil) } },
            "withdraw": { player in { _ in player.say(player.tally.withdrawn()) } },
            "awaits": { player in
                {
                    let isAwaited = player.voters[$0[0]].map { player.tally.awaits($0) } ?? false
                    player.transcript.say(isAwaited ? "yes" : "no")
                }
            },
        ]
    }

    private func begin(_ command: ScriptCommand) {
        var voters: [UInt64: VoteTally.Voter] = [:]
        self.voters = [:]
        for word in command.rest(from: 0).split(separator: " ") {
            let (number, parts) = (UInt64(voters.count), word.split(separator: ":"))
            let name = String(parts[0])
            self.voters[name] = number
            voters[number] = VoteTally.Voter(
                label: name,
                whenSilent: parts.count > 1 ? Vote(parts[1], "silent") : .yes
            )
        }
        self.tally = VoteTally(
            Question(
                needingYes: command["needs"] != nil,
                whenNobodyVotes: command["nobody"] == nil ? .yes : .no("nobody answered")
            ),
            voters: voters
        )
    }

    private func vote(_ command: ScriptCommand, _ vote: Vote?) {
        guard let id = self.voters[command[0]] else { return self.transcript.say("who?") }
        let (counts, verdict) = self.tally.voted(vote, by: id)
        if !counts { self.transcript.say("it does not count") }
        self.say(verdict)
    }

    private func say(_ verdict: Verdict?) {
        switch verdict {
        case nil: break
        case .yes: self.transcript.say("the answer is yes")
        case .no:
            let denials = verdict?.denials.map { "\($0.label): \($0.why)" } ?? []
            self.transcript.say("the answer is no, \(denials.joined(separator: ", "))")
        }
    }
}

/// Plays the voters of a gate, who are found by buckets, which are numbers.
///
///     voter A [BUCKET …]    A comes, and stands there; without buckets it is asked about all
///     move A [BUCKET …]     A stands elsewhere
///     remove A
///     asked [BUCKET …]      who is asked about what concerns those buckets
///     show                  whether there is anybody, and the version, which says that a motion may concern more
final class ElectoratePlayer: ScriptPlayer {
    let transcript = ScriptTranscript()
    private var electorate = Electorate()
    private var voters: [String: VoterMember] = [:]

    static var commands: [String: (ElectoratePlayer) -> (ScriptCommand) -> Void] {
        [
            "voter": { player in
                {
                    let voter = VoterMember(
                        Machine.Voter(label: $0[0]),
                        at: $0.numbers(from: 1).map { Set($0.map { Bucket($0) }) },
                        isAsked: { _ in true },
                        body: { _ in }
                    )
                    player.voters[$0[0]] = voter
                    player.electorate.add(voter)
                }
            },
            "move": { player in
                {
                    guard let voter = player.voters[$0[0]] else { return }
                    player.electorate.move(
                        voter,
                        to: $0.numbers(from: 1).map { Set($0.map { Bucket($0) }) }
                    )
                }
            },
            "remove": { player in
                {
                    guard let voter = player.voters[$0[0]] else { return }
                    player.electorate.remove(voter)
                }
            },
            "asked": { player in
                {
                    let asked = player.electorate.voters(at: $0.numbers(from: 0) ?? [])
                    let names = asked.map(\.terms.label)
                    player.transcript.say(names.isEmpty ? "nobody" : names.joined(separator: " "))
                }
            },
            "show": { player in
                { _ in
                    let who = player.electorate.isEmpty ? "nobody is there" : "somebody is there"
                    player.transcript.say("\(who), version \(player.electorate.version)")
                }
            },
        ]
    }
}

/// Plays the groups that go to the log.
///
///     machine SEQ STATE     where the machine is
///     enter P STATE         P has been evaluated: it enters that state after all that was evaluated before
///     same P                P has been evaluated: nothing changes
///     refuse P              P has been evaluated: it is refused
///     withdraw P
///     more, no-more         more is about to come for the next group; it has come
///     begin                 gives to the log what has gathered
///     end N [WHY]           the log has committed group N, or could not
///     take                  what becomes of the group that has ended, and of what was withdrawn
///     show
final class GroupsPlayer: ScriptPlayer {
    let transcript = ScriptTranscript()
    private var groups = CommitGroups()
    private var machine = Place(seq: 0, value: Light.value("off"), at: .now, stay: 0)
    private var proposals: [String: Machine.Proposal] = [:]

    typealias Place = StateMachineCore.Place

    static var commands: [String: (GroupsPlayer) -> (ScriptCommand) -> Void] {
        [
            "machine": { player in
                {
                    let seq = UInt64($0[0]) ?? 0
                    player.machine = Place(seq: seq, value: Light.value($0[1]), at: .now, stay: seq)
                }
            },
            "enter": { player in
                { command in
                    player.gather(command) { move, base in
                        let new = Light.value(command[1])
                        return .entering(
                            ChangeEntry(move.change(from: base, to: new, beginsStay: true))
                        )
                    }
                }
            },
            "same": { player in
                { player.gather($0) { .answered(.success(.unchanged($1, .same))) } }
            },
            "refuse": { player in
                { player.gather($0) { .answered(.failure(Refused(.illegal, current: $1))) } }
            },
            "withdraw": { player in
                {
                    player.proposals[$0[0]]?.isWithdrawn.store(
                        true,
                        ordering: .sequentiallyConsistent
                    )
                    player.groups.haveWithdrawn = true
                }
            },
            "more": { player in { _ in player.groups.isGathering = true } },
            "no-more": { player in { _ in player.groups.isGathering = false } },
            "begin": GroupsPlayer.begin,
            "end": { player in
                {
                    let why = $0.rest(from: 1)
                    player.groups.recorded(
                        UInt64($0[0]) ?? 0,
                        why.isEmpty ? .committed : .failed(why)
                    )
                }
            },
            "take": GroupsPlayer.take,
            "show": { player in
                { _ in
                    let last = player.groups.ahead ?? player.machine
                    let what =
                        player.groups.underWay.map { "group \($0) is under way" }
                        ?? (player.groups.areQuiet ? "all is quiet" : "something gathers")
                    player.transcript.say("\(what); the machine will be at \(last.shown)")
                }
            },
        ]
    }

    private func gather(
        _ command: ScriptCommand,
        as fate: (Move, Place) -> EvaluatedProposal.Fate
    ) {
        let name = command[0]
        let move = Move(to: Light.value(command[1]), cause: name)
        let proposal = Machine.Proposal(
            .move(move),
            asking: nil,
            completion: { [transcript] in transcript.say("\(name): \($0.shown)") }
        )
        self.proposals[name] = proposal
        let base = self.groups.ahead ?? self.machine
        self.groups.gather([EvaluatedProposal(proposal, fate(move, base))])
    }

    private func begin(_ command: ScriptCommand) {
        guard let records = self.groups.begin() else { return self.transcript.say("not yet") }
        let shown = records.map(\.shown)
        self.transcript.say(
            records.isEmpty
                ? "nothing for the log"
                : "group \(self.groups.count): \(shown.joined(separator: ", "))"
        )
    }

    private func take(_ command: ScriptCommand) {
        var again: [Machine.Proposal] = []
        if let ended = self.groups.takeEnded(at: self.machine) {
            for one in ended.told { one.complete() }
            again += ended.again
        }
        if let (withdrawn, behind) = self.groups.takeWithdrawn() {
            for proposal in withdrawn {
                proposal.decided(.failure(Refused(.withdrawn, current: self.machine)))
            }
            again += behind
        }
        for proposal in again {
            self.transcript.say("evaluate \(proposal.move?.cause ?? "") again")
        }
    }
}

extension Vote {
    fileprivate init(_ word: some StringProtocol, _ why: String) {
        switch word {
        case "yes": self = .yes
        case "no": self = .no(why)
        default: self = .abstain
        }
    }
}

extension ScriptCommand {
    fileprivate var vote: Vote { Vote(self[1], self.rest(from: 2)) }
}
