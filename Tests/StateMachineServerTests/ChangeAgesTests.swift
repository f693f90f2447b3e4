import StateMachineCore
import Testing

@testable import StateMachineServer

/// How long ago changes were made, while the wall clock is set.
@Suite struct ChangeAgesTests {
    private static func moment(_ uptime: Int64, _ wall: Int64) -> StayMoment {
        StayMoment(uptime: uptime * 1_000_000, wall: WallTime(microseconds: wall * 1_000_000))
    }

    @Test(arguments: [86_400, -86_400, 0] as [Int64])
    func aClockThatIsSetChangesNoAge(shift: Int64) {
        var ages = ChangeAges(Self.moment(100, 5000), head: 3)
        ages.look(at: Self.moment(110, 5010), head: 4)
        let now = Self.moment(111, 5011 + shift)
        ages.look(at: now, head: 4)
        let fourth = WallTime(microseconds: 5_010_000_000)
        #expect(ages.age(of: 4, at: fourth, now) == 1000)
        // What is made after that shows the clock as it is then.
        let later = Self.moment(121, 5021 + shift)
        ages.look(at: later, head: 5)
        let fifth = WallTime(microseconds: (5015 + shift) * 1_000_000)
        #expect(ages.age(of: 5, at: fifth, later) == 6000)
        #expect(ages.age(of: 4, at: fourth, later) == 11_000)
    }

    @Test func aClockThatIsSetManyTimesCostsNoMemory() {
        var ages = ChangeAges(Self.moment(0, 1000), head: 0)
        for second in 1...1000 {
            let wall = second.isMultiple(of: 2) ? 1000 : 9000
            ages.look(at: Self.moment(Int64(second), Int64(second + wall)), head: UInt64(second))
        }
        let now = Self.moment(1001, 2001)
        let newest = WallTime(microseconds: 2_000_000_000)
        #expect(ages.age(of: 1000, at: newest, now) == 1000)
    }
}
