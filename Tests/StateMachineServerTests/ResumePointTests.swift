import StateMachineProtocol
import Testing

@testable import StateMachineServer

/// Where a reader resumes that names a cursor.
@Suite
struct ResumePointTests {
    private func point(
        _ since: String,
        kept first: UInt64 = 11,
        head: UInt64 = 20
    ) throws
        -> ResumePoint
    {
        ResumePoint(
            since: since,
            epoch: try #require(Epoch("ab12")),
            after: [try #require(Epoch("ab11")): 15],
            kept: first,
            head: head
        )
    }

    @Test
    func aCursorWhoseSuccessorsAreKeptIsReplayed() throws {
        #expect(try self.point("ab12:10") == .replay(after: 10))
        #expect(try self.point("ab12:20") == .replay(after: 20))
        #expect(try self.point("ab12:0", kept: 1, head: 0) == .replay(after: 0))
    }

    @Test
    func anOlderOneIsToldHowManyItMissed() throws {
        #expect(try self.point("ab12:9") == .resync(.evicted, missed: 11))
    }

    /// A crash of the machine ended the numbering that the daemon continues under another name.
    @Test
    func oneOfTheNumberingBeforeGoesAsFarAsThatIsThisOne() throws {
        #expect(try self.point("ab11:15") == .replay(after: 15))
        #expect(try self.point("ab11:16") == .resync(.restarted, missed: nil))
        #expect(try self.point("ab11:9") == .resync(.evicted, missed: 11))
    }

    @Test
    func oneOfAnotherNumberingIsTold() throws {
        #expect(try self.point("ffff:15") == .resync(.restarted, missed: nil))
        #expect(try self.point("ffff:9999") == .resync(.restarted, missed: nil))
    }

    @Test(arguments: ["", ":", "ab12", "ab12:", "ab12:21", "ab12:x", "ab12:1:2", "ab12:-1", "z:1"])
    func oneThatIsNoneOfOursIsUnknown(since: String) throws {
        #expect(try self.point(since) == .resync(.unknown, missed: nil))
    }
}
