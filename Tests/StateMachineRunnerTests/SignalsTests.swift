import Glibc
import Processes
import Testing

struct SignalsTests {
    /// Nothing else in the tests is sent this signal.
    private static let signal = SIGURG

    @Test(.timeLimit(.minutes(1))) func aSignalIsNoticedFromTheFirstMomentOn() async {
        for _ in 0..<200 {
            var signals = Signals.stream([Self.signal]).makeAsyncIterator()
            kill(getpid(), Self.signal)
            #expect(await signals.next() == Self.signal)
        }
    }

    @Test(.timeLimit(.minutes(1))) func eachListenerHasItAndTheLastThatGoesEndsIt() async {
        let meanings = [(number: SIGWINCH, meaning: "wider")]
        do {
            var first = Signals.stream(of: meanings).makeAsyncIterator()
            do {
                var second = Signals.stream([SIGWINCH]).makeAsyncIterator()
                kill(getpid(), SIGWINCH)
                #expect(await first.next() == "wider")
                #expect(await second.next() == SIGWINCH)
            }
            kill(getpid(), SIGWINCH)
            #expect(await first.next() == "wider")
        }
        #expect(Self.hasUsualEffect(SIGWINCH))
    }

    private static func hasUsualEffect(_ number: CInt) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
    }
}
