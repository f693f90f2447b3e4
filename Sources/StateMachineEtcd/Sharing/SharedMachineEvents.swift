#if Cluster
import StateMachineProtocol

/// What a shared machine is given, told and asked, and what is to be done then.
extension SharedMachine {
    package struct Settings: Sendable {
        package var keys: SharedKeys
        package var host: String
        /// The state that the first host begins with.
        package var beginning: SharedChange
        package var form: String
        /// Changes that the log keeps, where the engine does not say it.
        package var keepChanges: UInt64 = 10_000
        /// Changes that a group has at most.
        package var largestGroup: UInt64 = 1024
        /// Holds and guards that are put or deleted at once.
        package var largestElection = SharedRecording.largestElection
        /// How many blocks are committed until the log is pruned.
        package var pruneEvery: UInt64 = 256
        package var checkInterval = Duration.seconds(1)
        package var staleAfter = Duration.seconds(3)
        package var setTimeout = Duration.seconds(5)
        /// No attempt of an earlier process in the same session has a higher number.
        package var attempts: UInt64 = 0

        package init(_ keys: SharedKeys, host: String, beginning: SharedChange, form: String) {
            (self.keys, self.host, self.beginning, self.form) = (keys, host, beginning, form)
        }
    }

    /// What is to be committed at once, as it was judged.
    package struct Group: Hashable, Sendable {
        package var changes: [SharedChange]
        /// What the last change made, knowing more of its stay's times than the change does; nil: it does not.
        package var renewed: SharedChange?
        /// Own holds and guards by number; nil: it ends.
        package var voters: [UInt64: [UInt8]?]
        /// Those of them that outlive the session.
        package var lasting: Set<UInt64>
        /// ``SharedMachine/news`` when it was judged: it is judged again if there is more by now.
        package var news: UInt64

        package init(
            _ changes: [SharedChange],
            renewing renewed: SharedChange? = nil,
            voters: [UInt64: [UInt8]?] = [:],
            lasting: Set<UInt64> = [],
            news: UInt64
        ) {
            (self.changes, self.renewed) = (changes, renewed)
            (self.voters, self.lasting, self.news) = (voters, lasting, news)
        }

        /// Whether it only asks whether what was judged is still so.
        var isEmpty: Bool {
            self.changes.isEmpty && self.renewed == nil && self.voters.isEmpty
        }
    }

    /// How others have moved the machine on.
    package struct Progress: Hashable, Sendable {
        /// Without a gap behind where the host was.
        package var blocks: [Block]
        /// What the last change made, if more is known of its stay's times by now than was told; nil: nothing is.
        package var renewed: SharedChange?

        package init(_ blocks: [Block] = [], renewing renewed: SharedChange? = nil) {
            (self.blocks, self.renewed) = (blocks, renewed)
        }

        package var isEmpty: Bool { self.blocks.isEmpty && self.renewed == nil }
    }

    /// What has become of a group: `Recorded`, in the form that the engine has it.
    package enum Answer: Hashable, Sendable {
        case committed
        case failed(String)
        /// That is entered, and all that was told before this; then it is judged again.
        case overtaken(Progress)
        case unsure(String)
    }

    /// How a host comes to be where the head is, without the changes that led there.
    package enum Arrival: Hashable, Sendable {
        case joined
        /// Those changes are no longer in the log.
        case missed(UInt64)
        /// There is a new epoch.
        case restarted
    }

    package enum Timer: Hashable, Sendable {
        case check
        case stale(look: UInt64)
        case group(UInt64)
        /// The ticket of a host that proposes nothing more.
        case pause
        /// The ticket of a host that may be gone.
        case orphan
    }

    package enum Event: Sendable {
        /// A quorum can be asked from now on.
        case connected
        case disconnected
        /// The lease; nil if there is none.
        case session(Int64?)
        /// Own holds and guards of an earlier life, which are of the session that begins next.
        case tookOver(Set<UInt64>)
        /// Asks for it to be committed; one at a time.
        case proposed(Group)
        /// Asks whether the host is where a quorum is, from now on.
        case asked(UInt64)
        /// The time of these holds, which belong to no session, is over by this host's clock.
        case overdue(Set<SharedKeys.Voter>)
        /// What has become of what was sent; comes for each, once, in whatever connection.
        case ended(UInt64, Outcome<TransactionRequest.Answer>)
        case watched(UInt64, EngineWatch.News)
        case due(Timer)
        /// Trouble that others see: certificate, form.
        case trouble(Freshness.Reason, isThere: Bool)
    }

    /// What is not as it should be in the engine, for people; told when it is first seen.
    package enum Oddity: Hashable, Sendable {
        /// A value that is none; nil: there is no such any more.
        case damaged(SharedReading.Damage?)
        case lacksSettings
        /// It has lost changes that this host has seen, by which that is known: a new epoch is begun.
        case lostChanges(String)
    }

    package enum Action: Hashable, Sendable {
        case send(UInt64, TransactionRequest)
        /// In place of the one before; `version`: what the head's was.
        case watch(UInt64, from: Int64, version: Int64)
        /// The connection is of no use.
        case reconnect(String)
        case answer(Answer)
        case adopt(Progress)
        case place(Head, Arrival)
        /// Holds and guards of other hosts, and those of this one that outlive its session.
        case voters(put: [SharedKeys.Voter: [UInt8]], gone: Set<SharedKeys.Voter>)
        /// The host has come up to where a quorum was after it was asked.
        case fresh(UInt64)
        case notFresh(UInt64, Freshness.Reason)
        case tell(Freshness.News)
        /// The host is where that look, which freshness counts from, has shown the machine.
        case reached(look: UInt64)
        case note(Oddity)
        /// The session of that lease has ended, as the engine shows.
        case gone(lease: Int64)
        case arm(Timer, Duration)
        case disarm(Timer)
    }
}
#endif
