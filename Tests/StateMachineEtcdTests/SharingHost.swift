#if Cluster
import NIOCore
import NIOPosix
import StateMachineProtocol
import TestSupport

@testable import StateMachineCore
@testable import StateMachineEtcd

/// States of a machine that hosts share.
enum Lantern: EnumState {
    case dark
    case lit(by: String, Int)
    case blinking

    static let initial = Lantern.dark
    static let examples: [Lantern] = [.dark, .lit(by: "a", 1), .blinking]
}

/// The same as an earlier program has them.
enum EarlierLantern: EnumState {
    case dark
    case lit(by: String, Int)

    static let initial = EarlierLantern.dark
    static let examples: [EarlierLantern] = [.dark, .lit(by: "a", 1)]
}

/// One host in this process: a machine, what records it in the engine, and all that is heard there.
final class SharingHost<State: EnumState>: Sendable {
    struct Heard: Hashable {
        let seq: UInt64
        let text: String
        let at: WallTime
    }

    let name: String
    let machine: StateMachine<State>
    private let recording: SharedRecording
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let news = Recorder<SharingNews>()
    private let changes = Recorder<Heard>()
    private let arrivals = Recorder<Epoch>()
    private let registration: Registration
    /// Its leases, as it has remembered them last.
    private let leases = Recorder<[Int64]>()

    /// A host that has come to where the others are.
    convenience init(_ name: String, at endpoint: EtcdEndpoint) async {
        self.init(unplaced: name, at: endpoint)
        await self.isAt(arrival: 1)
        await self.isUp()
    }

    /// One that knows these leases of an earlier life.
    init(unplaced name: String, at endpoint: EtcdEndpoint, remembering leases: [Int64] = []) {
        self.name = name
        var settings = SharedRecording.Settings([endpoint], machine: "lantern", host: name)
        settings.timeToLive = .seconds(5)
        settings.checkInterval = .milliseconds(200)
        settings.staleAfter = .milliseconds(600)
        settings.callTimeout = .milliseconds(400)
        settings.setTimeout = .seconds(1)
        settings.leases = leases
        settings.remember = { [leases = self.leases] remembered, done in
            leases.record(remembered)
            done()
        }
        let coding = StateCoding<State>()
        let recording = SharedRecording(
            settings,
            coding.schema,
            on: self.group.next()
        )
        let beginning = Place(seq: 0, value: coding.schema.initial, at: .now, stay: 0)
        self.machine = StateMachine(resuming: beginning, recording: recording, isPlaced: false)
        let schema = coding.schema
        self.machine.machine.findVoters(
            at: { schema.buckets(of: $0) },
            on: { schema.stretches(of: $0) }
        )
        let (changes, arrivals) = (self.changes, self.arrivals)
        (self.registration, _, _) = self.machine.machine.follow(on: .immediate) { change in
            switch change.kind {
            case .arrival: if let epoch = recording.takeArrival() { arrivals.record(epoch) }
            case .made:
                changes.record(
                    Heard(seq: change.seq, text: change.new.text, at: change.at)
                )
            case .renewal: break
            }
        }
        self.recording = recording
        recording.onNews { [news] in
            news.record($0)
            // Whatever has a say here has it in the engine.
            if case .tookOver = $0 { recording.tookOver() }
        }
        recording.begin(moving: self.machine.machine, continuing: nil)
    }

    static func all(_ names: [String], at endpoint: EtcdEndpoint) async -> [SharingHost] {
        var hosts: [SharingHost] = []
        for name in names { hosts.append(await SharingHost(name, at: endpoint)) }
        return hosts
    }

    /// The changes that were entered one after the other.
    var heard: [Heard] { self.changes.heard }

    /// The numbering.
    var epoch: Epoch? { self.arrivals.heard.last }

    /// Why the engine could not be reached, when that was said last.
    private static func troubles(_ news: [SharingNews]) -> [String] {
        news.reversed().lazy.compactMap { news in
            if case .unreachable(let troubles) = news { troubles } else { nil }
        }.first ?? []
    }

    func hears(seq: UInt64) async { await self.changes.wait { $0.last?.seq ?? 0 >= seq } }

    func isAt(arrival number: Int) async { await self.arrivals.wait(for: number) }

    /// Waits until it takes changes.
    func isUp() async { await self.news.wait { Self.last($0) == .up } }

    /// Waits until it takes none, and says so.
    func isDown(_ reason: SharingTrouble = .engine) async {
        await self.news.wait { Self.last($0) == .down(reason) }
    }

    /// Waits until it has said why the engine cannot be reached.
    func isCutOff() async -> [String] {
        await self.news.wait { !Self.troubles($0).isEmpty }
        return Self.troubles(self.news.heard)
    }

    private static func last(_ news: [SharingNews]) -> SharingNews? {
        news.last { news in
            switch news {
            case .up, .down: true
            case .unreachable, .tookOver, .voterWent, .asked, .askEnded, .sessionEnded, .over,
                .damaged,
                .lacksSettings, .oldEngine, .restarted, .missed, .setAside:
                false
            }
        }
    }

    /// Proposes a state and says what has become of that.
    func attempt(_ state: State) async -> SharingAttempt<State> {
        do {
            _ = try await self.machine.propose(state)
            return SharingAttempt(state: state, fate: .made, why: "")
        } catch {
            switch error.reason {
            case .unsure(let why): return SharingAttempt(state: state, fate: .unsure, why: why)
            case let reason:
                return SharingAttempt(state: state, fate: .refused, why: "\(reason)")
            }
        }
    }

    /// Whether a quorum says that the machine is where it is here; else why not.
    func confirm() async -> SharingTrouble? {
        await withCheckedContinuation { continuation in
            self.recording.confirm { continuation.resume(returning: $0) }
        }
    }

    /// Has a hold recorded, or its end; nil, or why it is not.
    func record(_ record: Record) async -> StateMachineCore.Refusal? {
        await withCheckedContinuation { continuation in
            self.machine.machine.record([record]) { continuation.resume(returning: $0) }
        }
    }

    var remembered: [Int64] { self.leases.heard.last ?? [] }

    /// The holds of an earlier life that it has taken over.
    var tookOver: [KeptVoter] {
        self.news.heard.flatMap { news in
            if case .tookOver(let voters) = news { voters } else { [] as [KeptVoter] }
        }
    }

    /// Ends it as kill -9 does: the engine is not told.
    func vanish() async {
        self.recording.leaveSession()
        await self.end()
    }

    /// Ends it: its session goes with it.
    func end() async {
        await withCheckedContinuation { continuation in
            self.recording.settle { _ in continuation.resume() }
        }
        self.registration.cancel()
        try? await self.group.shutdownGracefully()
    }
}

struct SharingAttempt<State: EnumState>: Sendable {
    enum Fate {
        case made
        case refused
        case unsure
    }

    let state: State
    let fate: Fate
    let why: String
}

/// Stands between a host and the engine, and can cut them off from each other.
///
/// Guarded state: what is open, and whether it is cut, which belong to its event loop.
final class Relay: Sendable {
    private final class Wires {
        var isCut = false
        var open: [ObjectIdentifier: any Channel] = [:]
    }

    let endpoint: EtcdEndpoint
    private let listener: any Channel
    private let loop: any EventLoop
    private let wires: NIOLoopBoundBox<Wires>

    init(to engine: EtcdEndpoint) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let wires = NIOLoopBoundBox.makeBoxSendingValue(Wires(), eventLoop: loop)
        let listener = try await ServerBootstrap(group: loop)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { near in
                guard !wires.value.isCut else { return near.close() }
                return ClientBootstrap(group: loop)
                    .connect(host: engine.host, port: engine.port)
                    .flatMap { far in
                        for (one, other) in [(near, far), (far, near)] {
                            wires.value.open[ObjectIdentifier(one)] = one
                            do {
                                try one.pipeline.syncOperations.addHandler(Passing(to: other))
                            } catch {
                                return loop.makeFailedFuture(error)
                            }
                        }
                        return near.setOption(.autoRead, value: true)
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        (self.loop, self.wires, self.listener) = (loop, wires, listener)
        guard let port = listener.localAddress?.port else { throw TestFailure("no port") }
        self.endpoint = try EtcdEndpoint("http://127.0.0.1:\(port)")
    }

    deinit { self.listener.close(promise: nil) }

    /// Ends all that goes through it, and lets nothing through until it is mended.
    func cut() async throws {
        try await self.loop.submit {
            self.wires.value.isCut = true
            for channel in self.wires.value.open.values { channel.close(promise: nil) }
            self.wires.value.open = [:]
        }.get()
    }

    func mend() async throws { try await self.loop.submit { self.wires.value.isCut = false }.get() }
}

/// Passes what comes on to another connection, and its end.
private final class Passing: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.other.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { self.other.close(promise: nil) }
}
#endif
