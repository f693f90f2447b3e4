import Logging
import StateMachineCore
import StateMachineProtocol

/// Logs what an administrator should know about a machine's troubles.
extension Logger {
    /// Logs that the machine makes no moves of its own; with nil, that it does again.
    func log(_ suspension: MoveBreaker.Limit?) {
        if let suspension {
            self.warning(
                "automatic transitions are suspended until a client sends set, update or send",
                metadata: ["moves": "\(suspension)"]
            )
        } else {
            self.notice("automatic transitions continue")
        }
    }

    /// Logs whether a machine that hosts share is what all have.
    func log(_ news: SharingNews) {
        switch news {
        case .up: self.notice("the shared machine is what all hosts have, accepting changes")
        // It has just started, or what has ended the session is told besides.
        case .down(.session):
            self.notice("this host has no session with the engine yet, refusing changes")
        case .down(let trouble):
            self.warning(
                "the shared machine may be older here than at other hosts, refusing changes",
                metadata: ["reason": "\(trouble.rawValue)"]
            )
        case .unreachable(let troubles) where troubles.isEmpty:
            self.notice("the engine can be reached")
        case .unreachable(let troubles):
            self.warning(
                "the engine cannot be reached, trying again",
                metadata: ["error": "\(troubles.joined(separator: "; ").printable)"]
            )
        case .tookOver(let voters):
            self.notice(
                "holds of this host from before its daemon was killed are in force again, waiting for their clients",
                metadata: ["holds": "\(voters.map { "\($0.number)" }.joined(separator: " "))"]
            )
        // What has ended with it is in force nowhere, and the trouble is told.
        case .sessionEnded, .voterWent, .asked, .askEnded: break
        case .over(let why):
            self.critical("ending until that is mended", metadata: ["error": "\(why.printable)"])
        case .damaged(let why?):
            self.error(
                "a value of the machine's in the engine is damaged, refusing changes until it is set right",
                metadata: ["error": "\(why.printable)"]
            )
        case .damaged(nil): self.notice("what the engine has of the machine can be read again")
        case .lacksSettings:
            self.warning(
                "the engine no longer has the machine's settings, going by those of this host's daemon"
            )
        case .oldEngine(let version):
            self.warning(
                "this etcd has known errors that are mended from 3.5 on, upgrade it",
                metadata: ["version": "\(version.printable)"]
            )
        case .restarted(let why):
            self.critical(
                "the engine was restored, or has lost the machine: it is in another numbering from here on, and what had been acknowledged may be gone",
                metadata: why.map { ["error": "\($0.printable)"] } ?? [:]
            )
        case .missed(let count):
            self.warning(
                "this host was away for longer than the engine's log reaches, continuing behind it",
                metadata: ["missed": "\(count)"]
            )
        case .setAside(let file):
            self.warning(
                "this host's history is not the machine's past, or not all of it, and has been renamed, beginning a new one",
                metadata: ["file": "\(file)"]
            )
        }
    }

    /// Logs why a linked machine cannot be seen; with nil, that it can be again.
    func log(_ why: String?, of link: Link) {
        if let why {
            self.warning(
                "a linked machine cannot be seen, and matches nothing until it can be",
                metadata: ["link": "\(link.name)", "error": "\(why.printable)"]
            )
        } else {
            self.notice("a linked machine can be seen again", metadata: ["link": "\(link.name)"])
        }
    }

    /// Logs that a hold or a guard can match no state of the machine's file.
    func log(void voter: SocketVoter) {
        self.warning(
            "a hold or guard matches no state of the machine's file, and has no effect",
            metadata: [
                "voter": "\(voter.claim.label)",
                "before": "\(voter.patterns.written)",
                "by": "uid \(voter.peer.uid) pid \(voter.peer.pid)",
            ]
        )
    }

    /// Logs what has become of a required guard, or of a hold of a name.
    func log(_ news: Voters.News, of voter: KeptVoter) {
        var facts: Logger.Metadata = ["by": "uid \(voter.peer.uid) pid \(voter.peer.pid)"]
        switch voter.term {
        case .connection: break
        case .required(let name): facts["required"] = "\(name)"
        case .named(let name, _): facts["as"] = "\(name)"
        }
        switch news {
        case .missing:
            self.warning(
                "a required guard is not connected; start it, or run statectl release --required NAME: its states cannot be entered until then",
                metadata: facts
            )
        case .connected: self.notice("a required guard is connected again", metadata: facts)
        case .released: self.notice("a required guard or a hold was released", metadata: facts)
        case .ended: self.notice("a hold has expired", metadata: facts)
        case .doubted:
            self.warning(
                "the clock is more than a week past the newest change, and is doubted: a hold lasts that would have expired, until the clock is set or has run for a day",
                metadata: facts
            )
        case .unreadable:
            self.error(
                "the record of a hold or guard cannot be read; no state can be entered until it is released",
                metadata: facts
            )
        }
    }

    /// Logs why a kind of the history's work fails; with nil, that it succeeds again.
    func log(_ trouble: String?, of work: HistoryWork) {
        switch (work, trouble) {
        case (.commits, let why?):
            self.error("changes cannot be recorded, refusing them", metadata: ["error": "\(why)"])
        case (.commits, nil): self.notice("changes are accepted again")
        case (.pruning, let why?):
            self.warning(
                "old changes cannot be removed from the history, trying again later",
                metadata: ["error": "\(why)"]
            )
        case (.pruning, nil): self.notice("old changes are removed again")
        case (.tidying, let why?):
            self.warning("the history's files keep growing", metadata: ["error": "\(why)"])
        case (.tidying, nil): self.notice("the history's files no longer grow")
        case (.caching, let why?):
            self.warning(
                "changes cannot be written to this host's history, and are in the engine alone",
                metadata: ["error": "\(why)"]
            )
        case (.caching, nil): self.notice("changes are written to this host's history again")
        }
    }
}
