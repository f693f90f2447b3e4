import Testing

@testable import StateMachineServer

/// A connection's life as scripts of events and actions.
@Suite struct ConnectionLifecycleTests {
    @Test func aClientThatHasSaidAllIsServedToTheEnd() {
        var life = ConnectionLifecycle()
        #expect(life.flushed(hasPending: false, hasSeenEOF: false) == .ignore)
        #expect(life.inputEnded() == .endImplicitWatch)
        #expect(life.isListening)
        #expect(life.flushed(hasPending: true, hasSeenEOF: true) == .ignore)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .close)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .ignore)
    }

    @Test func aClientThatIsSentAwayMayReadWhatItWasSent() {
        var life = ConnectionLifecycle()
        #expect(life.leave() == true)
        #expect(!life.isListening)
        #expect(life.leave() == false)
        #expect(life.flushed(hasPending: true, hasSeenEOF: false) == .linger)
        #expect(life.inputEnded() == .close)
    }

    @Test func aClientThatHasEndedAlreadyIsNotWaitedFor() {
        var life = ConnectionLifecycle()
        #expect(life.inputEnded() == .endImplicitWatch)
        #expect(life.leave() == true)
        #expect(life.flushed(hasPending: true, hasSeenEOF: true) == .close)
    }

    @Test func nothingFollowsTheEnd() {
        var life = ConnectionLifecycle()
        #expect(life.end() == false)
        #expect(life.leave() == false)
        #expect(life.inputEnded() == .ignore)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .ignore)
    }

    @Test func whatAClientThatIsGoneHasSentIsCarriedOutIfItWasServed() {
        var life = ConnectionLifecycle()
        life.admitted()
        #expect(life.isWaiting && !life.isServing)
        #expect(life.timeCame() == true)
        #expect(life.place == .served && life.isServing)
        #expect(life.vanished(hasRequests: true) == true)
        #expect(life.isGone && life.isListening && life.isServing)
        #expect(life.leave() == false)
        #expect(life.end() == false)
        #expect(life.end() == true)
        #expect(!life.isServing)
    }

    @Test func whoIsGoneBeforeItsTimeIsForgotten() {
        var life = ConnectionLifecycle()
        life.admitted()
        #expect(life.vanished(hasRequests: true) == false)
        #expect(life.end() == false)
        #expect(life.timeCame() == false)
        #expect(life.place == .waiting)
    }
}
