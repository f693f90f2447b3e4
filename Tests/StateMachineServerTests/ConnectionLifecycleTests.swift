import Testing

@testable import StateMachineServer

/// A connection's life as scripts of events and actions.
@Suite struct ConnectionLifecycleTests {
    @Test func aClientThatHasSaidAllIsServedToTheEnd() {
        var life = ConnectionLifecycle()
        #expect(life.flushed(hasPending: false, hasSeenEOF: false) == .ignore)
        #expect(life.inputServed() == .endImplicitWatch)
        #expect(life.isListening)
        #expect(life.flushed(hasPending: true, hasSeenEOF: true) == .ignore)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .close)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .ignore)
    }

    @Test func aClientThatIsSentAwayMayReadWhatItWasSent() {
        var life = ConnectionLifecycle()
        #expect(life.dismiss() == true)
        #expect(!life.isListening)
        #expect(life.dismiss() == false)
        #expect(life.flushed(hasPending: true, hasSeenEOF: false) == .linger)
        #expect(life.inputServed() == .close)
    }

    @Test func aClientThatHasEndedAlreadyIsNotWaitedFor() {
        var life = ConnectionLifecycle()
        #expect(life.inputServed() == .endImplicitWatch)
        #expect(life.dismiss() == true)
        #expect(life.flushed(hasPending: true, hasSeenEOF: true) == .close)
    }

    @Test func nothingFollowsTheEnd() {
        var life = ConnectionLifecycle()
        #expect(life.forget() == false)
        #expect(life.dismiss() == false)
        #expect(life.inputServed() == .ignore)
        #expect(life.flushed(hasPending: false, hasSeenEOF: true) == .ignore)
    }

    @Test func whatAClientThatIsGoneHasSentIsCarriedOutIfItWasServed() {
        var life = ConnectionLifecycle()
        life.admitted()
        #expect(life.isWaiting && !life.mayServe)
        #expect(life.timeCame() == true)
        #expect(life.slot == .served && life.mayServe)
        #expect(life.vanished(hasRequests: true) == true)
        #expect(life.isGone && life.isListening && life.mayServe)
        #expect(life.dismiss() == false)
        #expect(life.forget() == false)
        #expect(life.forget() == true)
        #expect(!life.mayServe)
    }

    @Test func whoIsGoneBeforeItsTimeIsForgotten() {
        var life = ConnectionLifecycle()
        life.admitted()
        #expect(life.vanished(hasRequests: true) == false)
        #expect(life.forget() == false)
        #expect(life.timeCame() == false)
        #expect(life.slot == .waiting)
    }
}
