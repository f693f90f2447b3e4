import TestSupport
import Testing

@testable import StateMachineWeb

/// Which connections there may be, and which go for others.
struct ConnectionsTests {
    private final class Channel {}

    /// Connections of several addresses, as a service has them.
    private struct Crowd {
        var connections = Connections<Channel>()
        var open: [Channel] = []

        /// Connects; returns who had to go.
        mutating func add(from address: ClientAddress?) -> (own: Channel, gone: Channel?) {
            let channel = Channel()
            let gone = self.connections.add(ObjectIdentifier(channel), channel, from: address)
            self.open.removeAll { $0 === gone }
            self.open.append(channel)
            return (channel, gone)
        }

        mutating func addMany(_ count: Int, from address: ClientAddress?) -> [Channel] {
            (0..<count).map { _ in self.add(from: address).own }
        }

        mutating func follow(_ channel: Channel) -> TooManyFollow? {
            self.connections.ask(ObjectIdentifier(channel))
            return self.connections.follow(ObjectIdentifier(channel))
        }
    }

    private static let one = ClientAddress.v4(1)
    private static let most = Connections<Channel>.most
    private static let ofOne = Connections<Channel>.ofOne

    @Test func anAddressThatHasAllItMayHaveLosesTheOneThatIsIdleForLongest() {
        var crowd = Crowd()
        let own = crowd.addMany(Self.ofOne.all, from: Self.one)
        let other = crowd.add(from: .v4(2)).own
        // One that asks is busy, and one that has been answered is idle from then on.
        for channel in own[..<2] { crowd.connections.ask(ObjectIdentifier(channel)) }
        crowd.connections.rest(ObjectIdentifier(own[0]))
        #expect(crowd.add(from: Self.one).gone === own[2])
        #expect(crowd.open.contains { $0 === other })
        #expect(crowd.add(from: .v4(3)).gone == nil)
    }

    @Test func whoIsAnsweredGoesOnlyIfNobodyIsIdle() {
        var crowd = Crowd()
        let own = crowd.addMany(Self.ofOne.all, from: Self.one)
        for channel in own { crowd.connections.ask(ObjectIdentifier(channel)) }
        #expect(crowd.add(from: Self.one).gone === own[0])
    }

    @Test func oneAddressHasSoManyStreamsAndGetsThemBack() {
        var crowd = Crowd()
        let own = crowd.addMany(Self.ofOne.following + 1, from: Self.one)
        for channel in own.dropLast() { #expect(crowd.follow(channel) == nil) }
        #expect(crowd.follow(own[256]) == .ofOne(256))
        let other = crowd.add(from: .v4(2)).own
        #expect(crowd.follow(other) == nil)
        // One that was answered, and one that has gone.
        crowd.connections.rest(ObjectIdentifier(own[0]))
        #expect(crowd.follow(own[256]) == nil)
        crowd.connections.remove(ObjectIdentifier(own[1]))
        #expect(crowd.follow(own[0]) == nil)
        #expect(crowd.follow(crowd.add(from: Self.one).own) == .ofOne(256))
    }

    /// A socket in the file system: only what counts for all counts.
    @Test func withoutAddressesStreamsAreKeptAndOthersGo() {
        var crowd = Crowd()
        let streams = crowd.addMany(Self.most.following, from: nil)
        for channel in streams { #expect(crowd.follow(channel) == nil) }
        #expect(crowd.follow(crowd.add(from: nil).own) == .all(448))
        for _ in 0..<1000 { _ = crowd.add(from: nil) }
        #expect(crowd.open.count == Self.most.all)
        #expect(streams.allSatisfy { stream in crowd.open.contains { $0 === stream } })
    }

    @Test func whateverHappensLimitsHoldAndNoStreamGoesForAnother() {
        var random = SeededGenerator(seed: 13)
        var crowd = Crowd()
        var addresses: [ObjectIdentifier: ClientAddress?] = [:]
        var following: [ObjectIdentifier: ClientAddress?] = [:]
        for _ in 0..<5_000 {
            let channel = crowd.open.randomElement(using: &random)
            switch (Int.random(in: 0..<8, using: &random), channel) {
            case (0, let channel?):
                crowd.connections.remove(ObjectIdentifier(channel))
                following[ObjectIdentifier(channel)] = nil
                crowd.open.removeAll { $0 === channel }
            case (1, let channel?):
                crowd.connections.rest(ObjectIdentifier(channel))
                following[ObjectIdentifier(channel)] = nil
            case (2...3, let channel?):
                let id = ObjectIdentifier(channel)
                if following[id] == nil, crowd.follow(channel) == nil {
                    following[id] = addresses[id]
                }
            default:
                let address: ClientAddress? =
                    Bool.random(using: &random) ? nil : .v4(.random(in: 0..<3, using: &random))
                let (own, gone) = crowd.add(from: address)
                addresses[ObjectIdentifier(own)] = .some(address)
                #expect(gone.map { following[ObjectIdentifier($0)] == nil } ?? true)
            }
            #expect(crowd.open.count <= Self.most.all)
            #expect(following.count <= Self.most.following)
        }
        for number in 0..<3 as Range<UInt32> {
            let own = crowd.open.count { addresses[ObjectIdentifier($0)] == .v4(number) }
            #expect(own <= Self.ofOne.all)
        }
    }

    @Test(
        arguments: [
            ([127, 0, 0, 1], ClientAddress.local), ([127, 9, 9, 9], .local),
            ([10, 0, 0, 1], .v4(0x0a00_0001)),
            (Array(repeating: 0, count: 15) + [1], .local),
            (Array(repeating: 0, count: 10) + [0xff, 0xff, 10, 0, 0, 1], .v4(0x0a00_0001)),
            (Array(repeating: 0, count: 10) + [0xff, 0xff, 127, 0, 0, 1], .local),
            ([0x20, 1, 0xd, 0xb8, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8], .v6(0x2001_0db8_0000_0007)),
            ([0x20, 1, 0xd, 0xb8, 0, 0, 0, 7, 9, 9, 9, 9, 9, 9, 9, 9], .v6(0x2001_0db8_0000_0007)),
            (Array(repeating: 0, count: 16), .v6(0)),
        ] as [([UInt8], ClientAddress)]
    )
    func whoeverMayHaveManyAddressesHasOne(bytes: [UInt8], address: ClientAddress) {
        let own =
            bytes.count == 16
            ? ClientAddress(v6: bytes) : ClientAddress(v4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
        #expect(own == address)
    }
}
