import Foundation
import TestSupport

/// Clients that do at random what clients do, compared with the truth.
///
/// One thread drives them all, so the same seed gives the same walk except for the daemon's own
/// timing.
struct Walk {
    static let ring = 64
    /// Enough for every kind of client at once.
    private static let most = 12

    let daemon: DaemonProcess
    let epoch: String
    var generator: SeededGenerator
    var truth = Truth()
    var clients: [WalkClient] = []
    private let witness: LineSocket
    private var made: Set<Int> = []
    private var lastNumber = 0
    /// The last steps, for finding out why a walk failed.
    private(set) var steps: [String] = []

    init(_ daemon: DaemonProcess, epoch: String, seed: UInt64) throws {
        self.daemon = daemon
        self.epoch = epoch
        self.generator = SeededGenerator(seed: seed)
        self.witness = try LineSocket(connectingTo: daemon.events)
    }

    mutating func number() -> Int {
        self.lastNumber += 1
        return self.lastNumber
    }

    mutating func random(_ range: Range<Int>) -> Int {
        Int.random(in: range, using: &self.generator)
    }

    mutating func note(_ step: String) { self.steps = self.steps.suffix(29) + [step] }

    // MARK: - Steps

    mutating func step() throws {
        self.clients.removeAll(where: \.hasEnded)
        if self.clients.count < 3 { try self.connect() }
        let client = self.clients[self.random(0..<self.clients.count)]
        let mayAsk = !client.hasEndedInput && client.unanswered < 48
        switch self.random(0..<100) {
        case 0..<4 where self.clients.count < Self.most: try self.connect()
        case 4..<50 where mayAsk && client.maySet: try self.set(client)
        case 50..<58 where mayAsk: try self.ask(client)
        case 58..<70 where mayAsk && client.running.count < 6:
            try self.watch(client, since: self.random(0..<3) == 0 ? self.cursor() : nil)
        case 70..<76 where mayAsk: try self.unwatch(client)
        case 76..<82:
            self.note("stop \(client.name)")
            client.isReading = false
        case 82..<88 where !client.isReading: try self.resume(client)
        case 88..<92 where self.clients.count < Self.most:
            let cursor = self.cursor()
            try self.connect()
            try self.watch(self.clients[self.clients.count - 1], since: cursor)
        case 92..<94:
            self.note("vanish \(client.name)")
            if !client.hasEndedInput {
                // Without its newline it is not a request.
                let torn = #""state":"ready","data":{"value":true},"cause":"torn"}"#
                try client.socket.send(raw: #"{"op":"set","reenter":true,"# + torn)
            }
            client.socket.vanish()
            self.clients.removeAll { $0 === client }
        case 94..<95 where !client.hasEndedInput:
            self.note("end input of \(client.name)")
            client.endInput()
        default: break
        }
        try self.readAll()
    }

    private mutating func connect() throws {
        let isWatching = self.random(0..<3) == 0
        let socket = try self.daemon.connect(isWatching ? \.events : \.control)
        let name = "\(isWatching ? "events" : "control") \(self.number())"
        self.note("connect \(name)")
        self.clients.append(WalkClient(socket, name: name, isWatching: isWatching, ring: Self.ring))
    }

    private mutating func set(_ client: WalkClient) throws {
        for _ in 0..<self.random(1..<9) {
            let number = self.number()
            let state = self.random(0..<WalkState.fragments.count)
            let padding = String(repeating: "x", count: self.random(0..<200))
            var keys =
                #""op":"set",\#(WalkState.fragments[state]),"cause":"\#(number) \#(padding)""#
            let ifSeq = self.random(0..<5) == 0 ? self.truth.head + self.random(-1..<2) : nil
            if let ifSeq { keys += #","ifSeq":\#(max(ifSeq, 0))"# }
            let pattern = self.pattern(oneIn: 5, ofOne: true)
            if let pattern { keys += #","ifState":\#(pattern.json[0])"# }
            let reenter = self.random(0..<4) == 0
            if reenter { keys += #","reenter":true"# }
            let request = SetVerdict(
                number: number,
                state: state,
                ifSeq: ifSeq.map { max($0, 0) },
                ifState: pattern?.matches,
                reenter: reenter
            )
            try client.send(number, .set(request), keys)
        }
        self.note("set by \(client.name)")
    }

    private mutating func pattern(oneIn n: Int, ofOne: Bool = false) -> WalkState.Patterns? {
        guard self.random(0..<n) == 0 else { return nil }
        return WalkState.patterns.filter { !ofOne || $0.json.count == 1 }
            .randomElement(using: &self.generator)
    }

    private mutating func ask(_ client: WalkClient) throws {
        let isGet = self.random(0..<2) == 0
        self.note("ask by \(client.name)")
        try client.send(self.number(), .question, #""op":"\#(isGet ? "get" : "ping")""#)
    }

    /// Where some reader left off, or near the end.
    private mutating func cursor() -> Int {
        let lasts = self.clients.flatMap(\.watches).map(\.last)
        if let last = lasts.randomElement(using: &self.generator), self.random(0..<2) == 0 {
            return last
        }
        return self.random(max(self.truth.head - 100, 0)..<self.truth.head + 1)
    }

    private mutating func watch(_ client: WalkClient, since: Int?) throws {
        let id = self.number()
        var keys = #""op":"watch""#
        if let since { keys += #","since":"\#(self.epoch):\#(since)""# }
        let pattern = self.pattern(oneIn: 2)
        if let pattern { keys += #","only":[\#(pattern.json.joined(separator: ","))]"# }
        let isLatest = self.random(0..<4) == 0
        if isLatest { keys += #","mode":"latest""# }
        let isPaced = self.random(0..<4) == 0
        if isPaced {
            keys += #","everyMs":\#(self.random(100..<130))"#
        } else if self.random(0..<4) == 0 {
            keys += #","beatMs":\#(self.random(100..<130))"#
        }
        self.note("watch by \(client.name): \(keys)")
        let watch = WalkWatch(
            id: id,
            only: pattern?.matches,
            isLatest: isLatest,
            isPaced: isPaced,
            since: since,
            ring: Self.ring
        )
        try client.send(id, .watch(watch), keys)
    }

    private mutating func unwatch(_ client: WalkClient) throws {
        let explicit = client.running.filter { $0.id != nil }
        guard let watch = explicit.randomElement(using: &self.generator), let id = watch.id
        else { return }
        self.note("unwatch \(id) by \(client.name)")
        try client.send(id, .unwatch(watch), #""op":"unwatch""#)
    }

    /// Has a client read again, up to the present.
    private mutating func resume(_ client: WalkClient) throws {
        self.note("go on \(client.name)")
        client.resume()
        guard !client.hasEndedInput else { return }
        try client.send(self.number(), .question, #""op":"ping""#)
        while client.unanswered > 0 {
            try client.socket.waitForInput()
            try self.readAll()
        }
    }

    // MARK: - Reading

    private mutating func readAll() throws {
        try self.readWitness()
        for client in self.clients { try client.read(&self.truth) }
        try self.readWitness()
        try self.truth.settle()
    }

    private mutating func readWitness() throws {
        guard let lines = try self.witness.linesSoFar() else {
            throw TestFailure("the daemon has gone")
        }
        for text in lines {
            let line = try JSONLine(text)
            guard let seq = line.seq else { throw TestFailure("no seq: \(text)") }
            guard line.type == "change" else {
                guard line.type == "state", seq == 0, self.truth.head == 0 else {
                    throw TestFailure("the reader that always reads was told: \(text)")
                }
                continue
            }
            guard let from = text.range(of: #""from":"#)?.upperBound,
                let cause = line.string("cause")?.prefix(while: { $0 != " " }),
                let number = Int(cause), self.made.insert(number).inserted
            else { throw TestFailure("made by no set, or by one twice: \(text)") }
            try self.truth.expect(WalkState.number(in: text[from...]), at: seq - 1, text)
            let change = Truth.Change(state: try WalkState.number(in: text), set: number)
            try self.truth.append(change, seq: seq)
        }
    }

    /// Lets every client read to the end, where everything wanted has arrived and every request is
    /// answered.
    mutating func finish() throws {
        for client in self.clients where !client.isReading { try self.resume(client) }
        let control = try self.daemon.connect(\.control)
        let last = WalkClient(control, name: "last", isWatching: false, ring: Self.ring)
        self.clients.append(last)
        for _ in 0..<4 { try self.set(last) }
        try self.readAll()
        for client in self.clients {
            while !client.isDone(self.truth) {
                try client.socket.waitForInput()
                try self.readAll()
            }
        }
        while !self.truth.isSettled {
            try self.witness.waitForInput()
            try self.readAll()
        }
        guard self.clients.allSatisfy({ $0.unmade.isDisjoint(with: self.made) }) else {
            throw TestFailure("a set that was refused was carried out")
        }
    }
}
