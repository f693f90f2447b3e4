import StateMachineProtocol
import Testing

@testable import StateMachineWeb

/// Where the page is served, and to whom.
struct AddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", true), ("[::1]:80", true), ("localhost:1", true), ("unix:/run/x", true),
        ("127.1.2.3:80", true), ("0.0.0.0:80", false), ("[::]:80", false), ("10.0.0.1:80", false),
        ("[0:0:0:0:0:0:0:1]:80", true),
    ])
    func anAddressIsReadAndJudged(_ text: String, _ isLocal: Bool) throws {
        let address = try #require(ListenAddress(text))
        #expect(address.isLocal == isLocal)
        #expect(address == ListenAddress(address.description))
    }

    @Test(arguments: [
        "", "8080", "unix:", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]",
        "example.org:80", "127.0.0.1:-1",
    ])
    func whatIsNoAddressIsNone(_ text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test(
        arguments: [
            ("localhost:8080", nil, true), ("127.0.0.1:8080", nil, true), ("[::1]:8080", nil, true),
            ("LOCALHOST", nil, true), ("10.1.2.3", nil, true), ("page.example:8080", nil, true),
            ("evil.example", nil, false), ("localhost.evil.example:8080", nil, false),
            ("127.0.0.1.evil.example", nil, false), ("", nil, false), (nil, nil, false),
            ("localhost:8080@evil.example", nil, false), ("localhost:abc", nil, false),
            ("[::1]evil.example", nil, false), ("::1:8080", nil, false),
            ("localhost:8080", "http://localhost:8080", true),
            ("localhost:8080", "https://localhost:8080", true),
            ("localhost:8080", "http://localhost:8081", false),
            ("localhost:8080", "http://evil.example", false), ("localhost:8080", "null", false),
        ] as [(String?, String?, Bool)]
    )
    func otherHostsAndOriginsAreRefused(_ host: String?, _ origin: String?, _ isRight: Bool) {
        let rule = HostRule(
            names: ["Page.example"],
            socket: .address(.internet(host: "127.0.0.1", port: 1))
        )
        let refusal = rule.refusal(host: host, origin: origin, site: nil, mode: nil)
        #expect((refusal == nil) == isRight)
    }

    @Test(
        arguments: [
            ("cross-site", "no-cors", false), ("cross-site", "cors", false),
            ("cross-site", nil, false), ("cross-site", "navigate", true),
            ("same-origin", "cors", true), ("none", "navigate", true), (nil, nil, true),
        ] as [(String?, String?, Bool)]
    )
    func anotherSiteMayLinkHereAndNoMore(_ site: String?, _ mode: String?, _ isRight: Bool) {
        let rule = HostRule(names: [], socket: .address(.unix(path: "/run/x")))
        let refusal = rule.refusal(host: "localhost", origin: nil, site: site, mode: mode)
        #expect((refusal == nil) == isRight)
    }

    @Test(arguments: [
        (#""a:1""#, true), (#"W/"a:1""#, true), (#""x", "a:1""#, true), ("*", true),
        (#""a:2""#, false), (#""x", W/"a:11""#, false), ("", false), (nil, false),
        // As proxies that compress mark it.
        (#""a:1-gzip""#, true), (#"W/"a:1--gzip""#, true), (#""a:1;br""#, true),
        (#""a:11-gzip""#, false), ("a:1", false),
    ])
    func aTagIsComparedWeaklyAndAmongSeveral(_ field: String?, _ isKnown: Bool) {
        #expect(PageRequest(path: [], tag: field).has("a:1") == isKnown)
    }

    @Test func behindASocketAnyNameWillDoButAnotherPagesWillNot() {
        let rule = HostRule(names: [], socket: .address(.unix(path: "/run/x")))
        func refusal(_ origin: String?) -> String? {
            rule.refusal(host: "page.example", origin: origin, site: nil, mode: nil)
        }
        #expect(refusal(nil) == nil)
        #expect(refusal("http://evil.example") != nil)
    }

    @Test func aPlaceAmongTheMostMachinesIsAShortText() throws {
        let names = (0..<Machines.most).map { "a machine with a rather long name \($0)" }
        var positions = JointPositions("")
        for name in names { positions[name] = Cursor("a4bc88eb:9007199254740991") }
        #expect(positions.description.utf8.count <= 2048)
        positions[names[1]] = Cursor("00000001:0")
        let again = JointPositions(positions.description)
        #expect(names.map { again[$0] } == names.map { positions[$0] })
        #expect(again[names[1]] == Cursor("00000001:0"))
        #expect(again["another"] == nil)
    }

    @Test(arguments: ["", ".", "a4bc88eb:1", "zzzzzz00000001-1", "......", "123456a4bc88ebé"])
    func whatIsNoPlaceIsNone(_ id: String) {
        #expect(JointPositions(id).description.isEmpty)
    }
}
