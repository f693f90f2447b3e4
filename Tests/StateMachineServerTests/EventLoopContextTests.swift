import Dispatch
import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineServer
import TestSupport
import Testing

/// Delegates that run on an event loop of the program's own.
@Suite(.bounded) struct EventLoopContextTests {
    private func withLoop(_ body: (any EventLoop) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await body(group.next())
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
        try await group.shutdownGracefully()
    }

    @Test func aDelegateHearsEveryTransitionInOrderOnTheLoop() async throws {
        try await self.withLoop { loop in
            let machine = StateMachine(DoorState.closed)
            let delegate = LoopDelegate(loop)
            machine.addDelegate(delegate, on: EventLoopContext(loop))
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                for degrees in 1...250 { machine.state = .open(degrees: 1000 * thread + degrees) }
            }
            await machine.flush()
            #expect(delegate.heard.heard == (1...machine.snapshot.seq).map { Heard(seq: $0) })
        }
    }

    @Test func contextsOfOneLoopAreOnePlace() async throws {
        try await self.withLoop { loop in
            let machine = StateMachine(DoorState.closed)
            let delegate = LoopDelegate(loop)
            machine.addDelegate(delegate, on: EventLoopContext(loop))
            machine.addDelegate(delegate, on: EventLoopContext(loop))
            machine.state = .open(degrees: 1)
            await machine.flush()
            #expect(delegate.heard.heard == [Heard(seq: 1)])
        }
    }

    @Test func itKnowsWhetherItIsCurrent() async throws {
        try await self.withLoop { loop in
            let context = EventLoopContext(loop)
            #expect(context.isCurrent == false)
            let isCurrentOnLoop = try await loop.submit { context.isCurrent }.get()
            #expect(isCurrentOnLoop == true)
        }
    }
}

private struct Heard: Equatable {
    let seq: UInt64
    var isOnLoop = true
}

private final class LoopDelegate: StateDelegate, Sendable {
    let heard = Recorder<Heard>()
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func stateChanged(_ transition: Transition<DoorState>) {
        self.heard.record(Heard(seq: transition.seq, isOnLoop: self.loop.inEventLoop))
    }
}
