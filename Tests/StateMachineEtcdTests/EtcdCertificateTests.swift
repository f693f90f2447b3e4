#if Cluster
import Foundation
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import StateMachineEtcd

/// Who trusts whom: each refusal says what to do.
@Suite(
    .bounded,
    .enabled(
        if: EtcdProcess.isInstalled,
        "etcd is not installed: apt install etcd-server etcd-client"
    ),
    .enabled(if: Certificates.canBeMade, "openssl is not installed")
)
struct EtcdCertificateTests {
    /// What keeps us from a call; nil if it is answered.
    private func trouble(
        _ endpoint: EtcdEndpoint,
        _ credentials: EtcdCredentials
    ) async throws -> String? {
        do {
            return try await EtcdConnection.with(endpoint, credentials) { connection in
                switch await connection.call(RangeRequest(KeyRange("/a"))) {
                case .answered: nil
                case .refused(let refusal): refusal.description
                case .unknown(let doubt): doubt.description
                }
            }
        } catch let error as ConnectionTrouble {
            return error.description
        }
    }

    private func expect(
        _ text: String,
        _ trouble: String?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            trouble?.contains(text) == true,
            "\(trouble ?? "it is answered")",
            sourceLocation: sourceLocation
        )
    }

    @Test func eachRefusalSaysWhatToDo() async throws {
        try await withTemporaryDirectory { directory in
            let (ours, others) = (
                try await Certificates(in: directory, named: "ours"),
                try await Certificates(in: directory, named: "others")
            )
            try await ours.make("etcd", for: "IP:127.0.0.1,DNS:localhost")
            try await ours.make("a")
            try await ours.make("old", days: -10 ..< -5)
            try await others.make("a")
            let etcd = try await EtcdProcess(
                in: directory,
                certificates: ours.arguments("etcd", trusting: ours)
            )
            let endpoint = etcd.endpoint

            #expect(try await self.trouble(endpoint, ours.credentials("a")) == nil)
            let name = try EtcdEndpoint("https://localhost:\(endpoint.port)")
            #expect(try await self.trouble(name, ours.credentials("a")) == nil)
            // It is for 127.0.0.1 and no other address of this host.
            let address = try EtcdEndpoint("https://127.0.0.2:\(endpoint.port)")
            self.expect("nobody answers", try await self.trouble(address, ours.credentials("a")))

            self.expect(
                "is not signed by any of engine-ca; set engine-ca",
                try await self.trouble(endpoint, others.credentials("a"))
            )
            self.expect(
                "asks for a certificate; set engine-certificate and engine-key",
                try await self.trouble(endpoint, ours.credentials())
            )
            self.expect(
                "refuses engine-certificate; have it signed by",
                try await self.trouble(endpoint, ours.credentials("a", of: others))
            )
            self.expect(
                "engine-certificate has expired on",
                try await self.trouble(endpoint, ours.credentials("old"))
            )
            let plain = try EtcdEndpoint("http://127.0.0.1:\(endpoint.port)")
            self.expect(
                "is it etcd, and not https://?",
                try await self.trouble(plain, ours.credentials("a"))
            )
            try await etcd.process.end(by: SIGKILL)
        }
    }

    @Test func theEnginesNameAndTimeAreLookedAt() async throws {
        try await withTemporaryDirectory { directory in
            let ours = try await Certificates(in: directory, named: "ours")
            try await ours.make("elsewhere", for: "DNS:elsewhere.example,IP:192.0.2.1")
            try await ours.make("old", for: "IP:127.0.0.1", days: -10 ..< -5)
            try await ours.make("new", for: "IP:127.0.0.1", days: 5..<10)
            let credentials = try ours.credentials()
            for (name, texts) in [
                "elsewhere": ["is for another name", "have 127.0.0.1 put into that"],
                "old": ["has expired on \(self.day(-5)); renew it"],
                "new": ["begins on \(self.day(5)); set this host's clock"],
            ] {
                try makeDirectory("\(directory)/\(name)")
                let etcd = try await EtcdProcess(
                    in: "\(directory)/\(name)",
                    certificates: ours.arguments(name)
                )
                let trouble = try await self.trouble(etcd.endpoint, credentials)
                for text in texts { self.expect(text, trouble) }
                if name == "elsewhere" {
                    let named = try EtcdEndpoint("https://localhost:\(etcd.endpoint.port)")
                    self.expect(
                        "have localhost put into that",
                        try await self.trouble(named, credentials)
                    )
                }
                try await etcd.process.end(by: SIGKILL)
            }
        }
    }

    private func day(_ days: Int) -> String {
        String(
            Date().addingTimeInterval(Double(days) * 86_400).formatted(
                .iso8601.year().month().day()
            )
        )
    }

    @Test func anEngineThatIsNotEncryptedIsSaidToBe() async throws {
        try await withTemporaryDirectory { directory in
            let credentials = try await Certificates(in: directory, named: "ours").credentials()
            try await EtcdProcess.run { etcd, _ in
                let endpoint = try EtcdEndpoint("https://127.0.0.1:\(etcd.endpoint.port)")
                self.expect(
                    "does not answer as an encrypted one",
                    try await self.trouble(endpoint, credentials)
                )
            }
        }
    }

    /// A user of the engine's who may not have our keys, and one who is none.
    @Test func aForeignUserIsRefused() async throws {
        try await withTemporaryDirectory { directory in
            let ours = try await Certificates(in: directory, named: "ours")
            try await ours.make("etcd", for: "IP:127.0.0.1")
            for name in ["a", "foreign", "nobody", "root"] { try await ours.make(name) }
            let etcd = try await EtcdProcess(
                in: directory,
                certificates: ours.arguments("etcd", trusting: ours)
            )
            func etcdctl(_ words: String) async throws {
                try await etcd.etcdctl(
                    arguments: [
                        "--cacert", ours.certificate("ca"), "--cert", ours.certificate("root"),
                        "--key", ours.key("root"),
                    ]
                        + words.split(separator: " ").map { String($0) }
                )
            }
            for (user, prefix) in [("a", "/a/"), ("foreign", "/b/")] {
                try await etcdctl("user add \(user) --new-user-password x")
                try await etcdctl("role add \(user)")
                try await etcdctl("role grant-permission \(user) --prefix=true readwrite \(prefix)")
                try await etcdctl("user grant-role \(user) \(user)")
            }
            try await etcdctl("user add root --new-user-password x")
            try await etcdctl("user grant-role root root")
            try await etcdctl("auth enable")

            for (name, isAllowed) in ["a": true, "foreign": false, "nobody": false] {
                try await EtcdConnection.with(etcd.endpoint, ours.credentials(name)) { connection in
                    let head = KeyRange("/a/head")
                    let outcomes: [Refusal?] = [
                        await connection.call(PutRequest("/a/head", [])).refusal,
                        await connection.call(RangeRequest(KeyRange(prefix: "/a/"))).refusal,
                        await connection.call(DeleteRequest(KeyRange("/a/none"))).refusal,
                        await connection.call(
                            TransactionRequest(
                                if: [Comparison(head, .equal, .version(0))],
                                then: [],
                                else: [.put(PutRequest("/a/head", []))]
                            )
                        ).refusal,
                    ]
                    #expect(
                        outcomes.allSatisfy { isAllowed ? $0 == nil : $0?.kind == .permission },
                        "\(name): \(outcomes)"
                    )
                    var news = connection.news(of: EngineWatch(KeyRange(prefix: "/a/"), from: 1))
                    let first = await news.next()
                    switch first {
                    case .began?: #expect(isAllowed)
                    case .ended(.refused(let refusal))?:
                        #expect(!isAllowed && refusal.kind == .permission)
                    case .ended?, .changed?, .alive?, nil:
                        Issue.record("\(name): \(String(describing: first))")
                    }
                    // Who may write may have a lease, and anybody may ask how the member is.
                    #expect(await connection.call(StatusRequest()).answer != nil)
                }
            }
            let refusal = try await EtcdConnection.with(etcd.endpoint, ours.credentials("foreign"))
            {
                await $0.call(PutRequest("/a/head", [])).refusal
            }
            self.expect("readwrite on the machine's prefix", refusal?.description)
            try await etcd.process.end(by: SIGKILL)
        }
    }

    @Test func filesThatAreNoGoodAreNamed() async throws {
        try await withTemporaryDirectory { directory in
            let ours = try await Certificates(in: directory, named: "ours")
            try await ours.make("a")
            try await ours.make("b")
            let (authority, certificate, key) = (
                ours.certificate("ca"), ours.certificate("a"), ours.key("a")
            )
            let empty = "\(directory)/empty"
            try "".write(toFile: empty, atomically: true, encoding: .utf8)
            for (text, authority, certificate, key) in [
                ("engine-ca: \(directory)/none cannot be read", "\(directory)/none", nil, nil),
                ("engine-ca: \(empty) cannot be read, or has no certificate", empty, nil, nil),
                ("engine-ca: \(key) cannot be read, or has no certificate", key, nil, nil),
                ("engine-certificate: \(empty)", authority, empty, key),
                ("engine-key: \(empty)", authority, certificate, empty),
                ("engine-key: \(certificate)", authority, certificate, certificate),
                (
                    "engine-key is not the key of engine-certificate", authority, certificate,
                    ours.key("b")
                ),
                ("engine-certificate is not; set both", authority, nil, key),
                ("engine-key is not; set both", authority, certificate, nil),
            ] as [(String, String, String?, String?)] {
                let error = #expect(throws: SettingError.self) {
                    try EtcdCredentials(authority: authority, certificate: certificate, key: key)
                }
                self.expect(text, error?.description)
            }
        }
    }
}
#endif
