#if Cluster
import Testing

@testable import StateMachineEtcd

/// What `engine-endpoints` may be.
@Suite struct EndpointTests {
    @Test func severalAreReadOnce() throws {
        let endpoints = try EtcdEndpoint.list(
            "https://etcd-1.example:2379, https://[2001:db8::1]:2379/,https://etcd-1.example:2379"
        )
        #expect(
            endpoints.map(\.description) == [
                "https://etcd-1.example:2379", "https://[2001:db8::1]:2379",
            ]
        )
        #expect(endpoints.map(\.name) == ["etcd-1.example", nil])
    }

    @Test(arguments: ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"])
    func onThisHostNothingNeedsToBeEncrypted(text: String) throws {
        #expect(try EtcdEndpoint(text).description == text)
    }

    @Test(arguments: ["http://127.evil.example:1", "http://etcd:2379", "http://10.0.0.1:2379"])
    func elsewhereItHasToBeUnlessOneSaysSo(text: String) throws {
        let error = #expect(throws: SettingError.self) { try EtcdEndpoint(text) }
        #expect(error?.description.contains("set engine-insecure") == true)
        #expect(try EtcdEndpoint(text, isInsecure: true).isEncrypted == false)
    }

    @Test(arguments: [
        "", "etcd:2379", "https://etcd", "https://etcd:", "https://etcd:0", "https://etcd:65536",
        "https://:2379",
        "https://a b:2379", "https://user@etcd:2379", "https://etcd:2379/v3", "https://[etcd]:2379",
        "https://::1:2379",
        "unix:///run/etcd", "https://e\u{202E}tcd:2379",
    ])
    func whatIsNoneIsQuoted(text: String) {
        let error = #expect(throws: SettingError.self) { try EtcdEndpoint(text) }
        #expect(error?.description.hasPrefix("engine-endpoints: ") == true)
        #expect(error?.description.contains("\u{202E}") == false)
    }

    @Test func aListHasOneAtLeast() {
        #expect(throws: SettingError.self) { try EtcdEndpoint.list(" , ") }
    }
}
#endif
