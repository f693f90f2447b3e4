import Dispatch
import StateMachineCore

// What a program's own enum costs compared with the stock states: one with everything written out,
// one as in the README. The code is generic over them except where the type is written out, as in a
// program.

enum Written: EnumState {
    case ready(Bool)
    case authentication(phase: AppState.Phase)
    case dataRetrieval(phase: AppState.Phase)

    enum Name: String, Hashable, Sendable, CaseIterable {
        case ready, authentication, dataRetrieval
    }

    static var initial: Self { .ready(false) }
    static var examples: [Written] {
        [.ready(false), .authentication(phase: .idle), .dataRetrieval(phase: .idle)]
    }

    var name: Name {
        switch self {
        case .ready: .ready
        case .authentication: .authentication
        case .dataRetrieval: .dataRetrieval
        }
    }

    func mayBecome(_ next: Self) -> Bool { true }
}

enum Plain: EnumState {
    case ready(Bool)
    case authentication(phase: AppState.Phase)
    case dataRetrieval(phase: AppState.Phase)

    static var initial: Self { .ready(false) }
    static var examples: [Plain] {
        [.ready(false), .authentication(phase: .idle), .dataRetrieval(phase: .idle)]
    }
}

/// The same load with each of the three.
struct Load {
    /// Runs the load; returns the nanoseconds each operation takes the setter.
    typealias Run = () -> Double

    let name: String
    let stock: Run
    let written: Run
    let plain: Run
}

final class StateCounter<State: MachineState>: StateDelegate, @unchecked Sendable {
    // Used only by its own context.
    private(set) var count = 0
    func stateChanged(_ transition: Transition<State>) { self.count &+= 1 }
}

@inline(__always)
func nanoseconds(settling settle: () -> Void = {}, of body: (Int) -> Void) -> Double {
    let begun = ContinuousClock.now
    for round in 0..<rounds { body(round) }
    let each = (ContinuousClock.now - begun) / Double(rounds)
    settle()
    return Double(each.components.attoseconds) / 1e9
}

func flush<State>(_ machine: StateMachine<State>) {
    let isTold = DispatchSemaphore(value: 0)
    Task.detached {
        await machine.flush()
        isTold.signal()
    }
    isTold.wait()
}

/// Three machines that differ only in their states, and what listens to them.
struct Machines {
    let stock = StateMachine<AppState>()
    let written = StateMachine<Written>()
    let plain = StateMachine<Plain>()
    private var kept: [AnyObject] = []

    init(delegates: Int = 0, on queue: DispatchQueue? = nil) {
        for _ in 0..<delegates {
            self.add(StateCounter<AppState>(), to: self.stock, queue)
            self.add(StateCounter<Written>(), to: self.written, queue)
            self.add(StateCounter<Plain>(), to: self.plain, queue)
        }
    }

    /// With that many observers, of all states or of one.
    init(observers: Int, ofOne: Bool) {
        for _ in 0..<observers {
            _ = self.stock.addObserver(of: ofOne ? [.ready] : nil) { _ in }
            _ = self.written.addObserver(of: ofOne ? [.ready] : nil) { _ in }
            _ = self.plain.addObserver(of: ofOne ? ["ready"] : nil) { _ in }
        }
    }

    private mutating func add<State>(
        _ delegate: StateCounter<State>,
        to machine: StateMachine<State>,
        _ queue: DispatchQueue?
    ) {
        self.kept.append(delegate)
        if let queue {
            machine.addDelegate(delegate, on: .queue(queue))
        } else {
            machine.addDelegate(delegate)
        }
    }

    func flushed() {
        flush(self.stock)
        flush(self.written)
        flush(self.plain)
    }

    func setting(_ name: String) -> Load {
        Load(
            name: name,
            stock: {
                nanoseconds(settling: self.flushed) {
                    self.stock.state = .ready($0.isMultiple(of: 2))
                }
            },
            written: {
                nanoseconds(settling: self.flushed) {
                    self.written.state = .ready($0.isMultiple(of: 2))
                }
            },
            plain: {
                nanoseconds(settling: self.flushed) {
                    self.plain.state = .ready($0.isMultiple(of: 2))
                }
            }
        )
    }

    func proposing(_ name: String) -> Load {
        Load(
            name: name,
            stock: {
                nanoseconds { _ = try? self.stock.proposeAtOnce(.ready($0.isMultiple(of: 2))) }
            },
            written: {
                nanoseconds { _ = try? self.written.proposeAtOnce(.ready($0.isMultiple(of: 2))) }
            },
            plain: {
                nanoseconds { _ = try? self.plain.proposeAtOnce(.ready($0.isMultiple(of: 2))) }
            }
        )
    }
}

/// Prints what each load costs with each enum; returns the limits, and whether they hold.
func compareEnums() -> [(String, Bool)] {
    let loads = [
        Machines().setting("state ="),
        Machines().proposing("propose"),
        Machines(delegates: 8).setting("state =, 8 immediate delegates"),
        Machines(delegates: 8, on: DispatchQueue(label: "one")).setting("state =, 8 on a queue"),
        Machines(observers: 20, ofOne: false).setting("state =, 20 observers"),
        Machines(observers: 20, ofOne: true).setting("state =, 20 observers of one state"),
    ]
    var bars: [(String, Bool)] = []
    var stock: [Double] = []
    for load in loads {
        // In turns, so that other load on the computer affects all of them.
        var best = (stock: Double.infinity, written: Double.infinity, plain: Double.infinity)
        for _ in 0..<11 {
            best.stock = min(best.stock, load.stock())
            best.written = min(best.written, load.written())
            best.plain = min(best.plain, load.plain())
        }
        let column = load.name.padding(toLength: 40, withPad: " ", startingAt: 0)
        let figures = [best.stock, best.written, best.plain]
            .map { String(format: "%6.0f", $0) }.joined()
        print("\(column)\(figures) ns: stock, own written out, own as in the README")
        bars.append(("\(load.name): an own enum at most 1.1 ×", best.written <= 1.1 * best.stock))
        bars.append(("\(load.name): as in the README at most 2 ×", best.plain <= 2 * best.stock))
        stock.append(best.stock)
    }
    bars.append(
        ("20 observers of one state cost at most twice 20 of all", stock[5] <= 2 * stock[4])
    )
    return bars
}
