import Dispatch
import Foundation
import StateMachineCore

// What a program's own enum costs compared with the stock states: one with everything written out,
// and the README's. The code is generic over them except where the type is written out, as in a
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

enum Kiosk: EnumState {
    case booting
    case maintenance(reason: String)
    case serving(customers: Int, order: Order? = nil)

    struct Order: Hashable, Sendable, Codable {
        var drink: String
        var placed: Date
    }

    static var initial: Kiosk { .booting }
    static var examples: [Kiosk] {
        let order = Order(drink: "tea", placed: .distantPast)
        return [.maintenance(reason: "paper"), .serving(customers: 1, order: order), .booting]
    }
}

/// The same load with each of the three.
struct Load {
    /// Runs the load; returns the nanoseconds each operation takes the setter.
    typealias Run = () -> Double

    let name: String
    let stock: Run
    let written: Run
    let kiosk: Run
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
    let kiosk = StateMachine<Kiosk>()
    private var kept: [AnyObject] = []

    init(delegates: Int = 0, on queue: DispatchQueue? = nil) {
        for _ in 0..<delegates {
            self.add(StateCounter<AppState>(), to: self.stock, queue)
            self.add(StateCounter<Written>(), to: self.written, queue)
            self.add(StateCounter<Kiosk>(), to: self.kiosk, queue)
        }
    }

    /// Which states twenty observers hear of.
    enum Heard { case all, one, another }

    /// With twenty observers.
    init(hearing heard: Heard) {
        let names: (stock: AppState.Name, written: Written.Name, kiosk: Kiosk.Name)? =
            switch heard {
            case .all: nil
            case .one: (.ready, .ready, "serving")
            case .another: (.authentication, .authentication, "maintenance")
            }
        for _ in 0..<20 {
            _ = self.stock.addObserver(of: names.map { [$0.stock] }) { _ in }
            _ = self.written.addObserver(of: names.map { [$0.written] }) { _ in }
            _ = self.kiosk.addObserver(of: names.map { [$0.kiosk] }) { _ in }
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
        flush(self.kiosk)
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
            kiosk: {
                nanoseconds(settling: self.flushed) { self.kiosk.state = .serving(customers: $0) }
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
            kiosk: {
                nanoseconds { _ = try? self.kiosk.proposeAtOnce(.serving(customers: $0)) }
            }
        )
    }
}

/// Prints what each load costs with each enum; returns the limits, and whether they hold.
func compareEnums() -> [(String, Bool)] {
    let (one, another) = ("state =, 20 observers of one state", "state =, 20 of another state")
    let loads = [
        Machines().setting("state ="),
        Machines().proposing("propose"),
        Machines(delegates: 8).setting("state =, 8 immediate delegates"),
        Machines(delegates: 8, on: DispatchQueue(label: "one")).setting("state =, 8 on a queue"),
        Machines(hearing: .all).setting("state =, 20 observers"),
        Machines(hearing: .one).setting(one),
        Machines(hearing: .another).setting(another),
    ]
    var bars: [(String, Bool)] = []
    var figures: [String: (stock: Double, written: Double, kiosk: Double)] = [:]
    for load in loads {
        // In turns, so that other load on the computer affects all of them.
        var best = (stock: Double.infinity, written: Double.infinity, kiosk: Double.infinity)
        for _ in 0..<11 {
            best.stock = min(best.stock, load.stock())
            best.written = min(best.written, load.written())
            best.kiosk = min(best.kiosk, load.kiosk())
        }
        let column = load.name.padding(toLength: 40, withPad: " ", startingAt: 0)
        let texts = [best.stock, best.written, best.kiosk].map { String(format: "%6.0f", $0) }
        print("\(column)\(texts.joined()) ns: stock, own written out, the README's")
        bars.append(("\(load.name): an own enum at most 1.1 ×", best.written <= 1.1 * best.stock))
        bars.append(("\(load.name): the README's at most 2 ×", best.kiosk <= 2 * best.stock))
        figures[load.name] = best
    }
    guard let nobody = figures["state ="], let all = figures["state =, 20 observers"],
        let one = figures[one], let another = figures[another]
    else { return bars }
    return bars + [
        ("20 observers of one state cost at most twice 20 of all", one.stock <= 2 * all.stock),
        ("… and 20 of another state at most 500 ns", another.stock <= 500),
        ("the README's enum at most 350 ns", nobody.kiosk <= 350),
    ]
}
