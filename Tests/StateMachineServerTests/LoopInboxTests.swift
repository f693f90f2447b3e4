import Dispatch
import NIOCore
import NIOPosix
import StateMachineCore
import TestSupport
import Testing

@testable import StateMachineServer

/// What reaches the loop, and in which of its turns.
@Suite(.bounded)
struct LoopInboxTests {
    private static func onALoop(
        _ body: @escaping @Sendable (LoopInbox, Recorder<String>) -> Void
    ) async throws -> Recorder<String> {
        let heard = Recorder<String>()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        try await loop.submit { body(LoopInbox(loop), heard) }.get()
        try await group.shutdownGracefully()
        return heard
    }

    /// Runs `body` on another thread, and waits for its end.
    private static func elsewhere(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            body()
            done.signal()
        }
        done.wait()
    }

    @Test func whatComesFromElsewhereWaitsForALaterTurn() async throws {
        let heard = try await Self.onALoop { inbox, heard in
            Self.elsewhere {
                inbox.run { heard.record("one") }
                inbox.run { heard.record("two") }
            }
            heard.record("end of the turn")
        }
        #expect(heard.heard == ["end of the turn", "one", "two"])
    }

    @Test func whatComesTogetherFromElsewhereRunsInOrder() async throws {
        let heard = try await Self.onALoop { inbox, heard in
            Self.elsewhere {
                inbox.together {
                    inbox.run { heard.record("one") }
                    inbox.together { inbox.run { heard.record("two") } }
                }
                inbox.together {}
            }
            heard.record("end of the turn")
        }
        #expect(heard.heard == ["end of the turn", "one", "two"])
    }

    @Test func whatIsEnqueuedNeverRunsInline() async throws {
        let heard = try await Self.onALoop { inbox, heard in
            inbox.enqueue { heard.record("one") }
            heard.record("end of the turn")
        }
        #expect(heard.heard == ["end of the turn", "one"])
    }

    @Test func whatComesFromTheLoopRunsAtOnceAfterWhatCameBefore() async throws {
        let heard = try await Self.onALoop { inbox, heard in
            Self.elsewhere { inbox.run { heard.record("one") } }
            inbox.run {
                heard.record("two")
                inbox.run { heard.record("four") }
                heard.record("three")
            }
            heard.record("end of the turn")
        }
        #expect(heard.heard == ["one", "two", "three", "four", "end of the turn"])
    }

    @Test(.enabled(if: Processors.areSeveral, "it never lingers on a single processor"))
    func aLoopThatLingersNeedsNoFurtherTurn() async throws {
        let heard = try await Self.onALoop { inbox, heard in
            Self.elsewhere { inbox.run { heard.record("one") } }
            inbox.linger { heard.heard.isEmpty }
            heard.record("end of the turn")
        }
        #expect(heard.heard == ["one", "end of the turn"])
    }

    @Test(.enabled(if: Processors.areSeveral, "it never lingers on a single processor"))
    func lingeringInVainLosesNothingAndIsNotRepeatedAtOnce() async throws {
        let heard = try await Self.onALoop { inbox, heard in
            inbox.linger { heard.heard.isEmpty }
            Self.elsewhere { inbox.run { heard.record("one") } }
            inbox.linger { heard.heard.isEmpty }
            heard.record("end of the turn")
        }
        #expect(heard.heard == ["end of the turn", "one"])
    }

    @Test func whatComesAfterItsEndIsDropped() async throws {
        let heard = try await Self.onALoop { inbox, heard in
            Self.elsewhere { inbox.run { heard.record("one") } }
            inbox.close()
            inbox.run { heard.record("two") }
            inbox.enqueue { heard.record("three") }
            Self.elsewhere {
                inbox.run { heard.record("four") }
                inbox.enqueue { heard.record("five") }
                inbox.together { inbox.run { heard.record("six") } }
            }
            heard.record("end of the turn")
        }
        #expect(heard.heard == ["end of the turn"])
    }
}
