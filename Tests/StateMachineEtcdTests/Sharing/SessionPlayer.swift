#if Cluster
import StateMachineCore
import StateMachineProtocol

@testable import StateMachineEtcd

/// Plays the session of host a, instance `one`, of six seconds, with an engine.
///
///     at S                  it is that second now
///     connected | disconnected
///     answer N              the engine does what was sent as N, and answers
///     lose N                it does that, and the answer is lost
///     drop N                it does not, and there is no answer
///     apply N               it does what was dropped, late
///     begun                 the machine has a head
///     holds N | named N     the host puts a hold into the engine, with its lease or without one
///     other INSTANCE        another instance's record is there
///     other-goes
///     ends LEASE            the engine ends it, with its keys
///     loses-keys LEASE      its keys are gone, and it can be kept alive
///     gone LEASE            the shared machine has seen that
///     reached SEQ
///     due keep|deadline|other
///     again                 the daemon was killed and runs again, with what it remembers
///     continue              another process continues it
struct SessionPlayer: SharingPlayer {
    private enum Sent {
        case grant(LeaseGrantRequest)
        case keep(LeaseKeepAliveRequest)
        case transaction(TransactionRequest)
    }

    private let keys = SharedKeys(machine: "lamp")
    private let settings: Session.Settings
    private var engine = ModelEngine()
    private var session: Session
    private var now: Int64 = 0
    private var leases: Int64 = 0
    private var remembered: [Int64] = []
    private var sent: [UInt64: Sent] = [:]

    init() {
        self.settings = Session.Settings(self.keys, host: "a", Self.record("one"))
        self.session = Session(self.settings)
        self.engine.grant(99, until: .max)
    }

    private static func record(_ instance: String) -> HostRecord {
        HostRecord(
            instance: instance,
            boot: "boot",
            version: "1",
            layouts: 1...1,
            form: "form",
            declaration: "declaration",
            session: 99,
            secondsToLive: 6,
            seq: 0,
            wall: WallTime(microseconds: 0)
        )
    }

    mutating func play(_ event: SharingEvent) -> [String] {
        let number: UInt64 = event.number(0)
        let lease: Int64 = event.number(0)
        switch event.name {
        case "at":
            self.now = Int64((Double(event[0]) ?? 0) * 1_000_000)
            return []
        case "connected": return self.tell(.connected)
        case "disconnected": return self.tell(.disconnected)
        case "answer": return self.end(number, isDone: true, isAnswered: true)
        case "lose": return self.end(number, isDone: true, isAnswered: false)
        case "drop": return self.end(number, isDone: false, isAnswered: false)
        case "apply":
            if case .transaction(let request)? = self.sent[number] {
                _ = self.engine.perform(request)
            }
        case "begun": self.change(.put(PutRequest(self.keys.head, Array("{}".utf8))))
        case "holds":
            let key = self.keys.voter(.init("a", number))
            self.change(.put(PutRequest(key, Array("{}".utf8), lease: self.leases)))
        case "named":
            self.change(.put(PutRequest(self.keys.voter(.init("a", number)), Array("{}".utf8))))
        case "other":
            self.change(
                .put(PutRequest(self.keys.host("a"), Self.record(event[0]).bytes, lease: 99))
            )
        case "other-goes": self.change(.delete(DeleteRequest(KeyRange(self.keys.host("a")))))
        case "ends":
            self.engine.grant(lease, until: 0)
            self.engine.endLeases(at: 0)
        case "loses-keys":
            for entry in self.engine.entries(self.keys.all) where entry.lease == lease {
                let key = String(decoding: entry.key, as: UTF8.self)
                self.change(.delete(DeleteRequest(KeyRange(key))))
            }
        case "gone": return self.tell(.gone(lease: lease))
        case "reached": return self.tell(.reached(number))
        case "due":
            switch event[0] {
            case "keep": return self.tell(.due(.keep))
            case "deadline": return self.tell(.due(.deadline))
            default: return self.tell(.due(.other))
            }
        case "again": self.session = Session(self.settings, remembering: self.remembered)
        case "continue":
            guard let continuation = self.session.continuation else { return ["there is none"] }
            self.session = Session(self.settings, continuing: continuation)
        default: return ["there is no event \(event.name)"]
        }
        return []
    }

    private mutating func change(_ operation: TransactionRequest.Operation) {
        _ = self.engine.perform(TransactionRequest(if: [], then: [operation]))
    }

    private mutating func end(_ number: UInt64, isDone: Bool, isAnswered: Bool) -> [String] {
        func outcome<Answer>(_ outcome: Outcome<Answer>) -> Outcome<Answer> {
            isAnswered ? outcome : .unknown(.lost("lost"))
        }
        switch self.sent[number] {
        case .grant(let request):
            if isDone {
                self.leases += 1
                self.engine.grant(self.leases, until: .max)
            }
            let lease = Lease(ResponseHeader(), self.leases, seconds: request.seconds)
            return self.tell(.granted(number, outcome(.answered(lease))))
        case .keep(let request):
            let isThere = self.engine.keepAlive(request.id, until: .max)
            let lease = Lease(ResponseHeader(), request.id, seconds: isThere ? 6 : 0)
            return self.tell(.kept(number, outcome(.answered(lease))))
        case .transaction(let request):
            guard isDone else { return self.tell(.ended(number, .unknown(.lost("lost")))) }
            return self.tell(.ended(number, outcome(self.engine.perform(request))))
        case nil: return ["nothing was sent as \(number)"]
        }
    }

    private mutating func tell(_ event: Session.Event) -> [String] {
        let moment = StayMoment(uptime: self.now, wall: WallTime(microseconds: self.now))
        var lines: [String] = []
        for action in self.session.thisHappened(event, at: moment) {
            switch action {
            case .grant(let number, let request):
                self.sent[number] = .grant(request)
                lines.append("ask \(number): a lease of \(request.seconds) s")
            case .keep(let number, let request):
                self.sent[number] = .keep(request)
                lines.append("keep \(number): lease \(request.id)")
            case .send(let number, let request):
                self.sent[number] = .transaction(request)
                lines.append("send \(number): \(Self.text(request, self.keys))")
            case .remember(let leases):
                self.remembered = leases
                lines.append("remember \(leases.map(\.description).joined(separator: " "))")
            case .session(let lease):
                lines.append(lease.map { "session \($0)" } ?? "the session has ended")
            case .takeOver(let voters):
                lines.append(
                    "take over \(voters.keys.sorted().map(\.description).joined(separator: " "))"
                )
            case .arm(let timer, let time): lines.append("\(timer) in \(time)")
            case .disarm(let timer): lines.append("no \(timer)")
            case .end(let why): lines.append("end: \(why)")
            }
        }
        return lines
    }

    private static func text(_ request: TransactionRequest, _ keys: SharedKeys) -> String {
        func name(_ key: String) -> String { String(key.dropFirst(keys.prefix.count)) }
        let changes = request.success.compactMap { operation -> String? in
            switch operation {
            case .range: nil
            case .put(let put) where put.value == nil:
                "put \(name(put.key)) as it is, lease \(put.lease)"
            case .put(let put): "put \(name(put.key)), lease \(put.lease)"
            case .delete(let delete):
                "delete \(name(String(decoding: delete.keys.first, as: UTF8.self)))"
            }
        }
        guard !request.comparisons.isEmpty else { return "look" }
        return changes.isEmpty ? "see whether the record is there" : changes.joined(separator: ", ")
    }
}
#endif
