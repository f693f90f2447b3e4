#if Cluster
import Foundation
import Glibc
import StateMachineProtocol
import Subprocess
import TestSupport
import Testing

@testable import StateMachineCore
@testable import StateMachineEtcd

/// The sessions of hosts that share a machine over a real etcd: who is there, and who may be.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedSessionTests {
    /// The record of a host as the engine has it; nil: it has none.
    private static func record(_ host: String, in etcd: EtcdProcess) async throws -> HostRecord? {
        let key = "/statemachine/v1/gate/hosts/\(host)"
        let text = try await etcd.etcdctl("get", key, "--print-value-only")
        return text.isEmpty ? nil : try HostRecord(reading: Array(text.utf8))
    }

    @Test(.timeLimit(.minutes(1)))
    func aHostIsKnownForAsLongAsItIsThere() async throws {
        try await EtcdProcess.run { etcd, directory in
            try await SharedDaemonsTests.run("a", at: etcd.endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                let record = try #require(try await Self.record("a", in: etcd))
                #expect(record.secondsToLive == 5)
                #expect(record.layouts == 1...1)
                #expect(record.session != 0)
                #expect(record.form.count == 16)
            }
            // Its end has ended the session: nobody waits for its time to be over.
            #expect(try await Self.record("a", in: etcd) == nil)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func whatAHostHeldWhenItWasKilledIsItsOwnAgain() async throws {
        try await EtcdProcess.run { etcd, _ in
            let a = await SharingHost<Lantern>("a", at: etcd.endpoint)
            let b = await SharingHost<Lantern>("b", at: etcd.endpoint)
            let hold = KeptVoter(
                number: 3,
                name: nil,
                peer: Peer(uid: 0, pid: 1),
                request: #"{"op":"hold","before":"lit"}"#.octets,
                since: .now
            )
            #expect(await b.record(.voter(hold)) == nil)
            #expect(await a.attempt(.lit(by: "a", 1)).fate == .refused)
            let leases = b.remembered
            await b.vanish()
            #expect(await a.attempt(.lit(by: "a", 2)).fate == .refused)
            let again = SharingHost<Lantern>(
                unplaced: "b",
                at: etcd.endpoint,
                remembering: leases
            )
            await again.isUp()
            #expect(again.tookOver == [hold])
            #expect(again.remembered.count == 2)
            #expect(await a.attempt(.lit(by: "a", 3)).fate == .refused)
            #expect(await again.record(.voterEnded(3)) == nil)
            #expect(await a.attempt(.lit(by: "a", 4)).fate == .made)
            await again.end()
            await a.end()
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func ofTwoDaemonsWithOneNameTheSecondEndsAndNamesBoth() async throws {
        try await EtcdProcess.run { etcd, directory in
            let endpoint = etcd.endpoint
            try await SharedDaemonsTests.run("a", at: endpoint, in: directory) { a in
                try await SharedDaemonsTests.isUp(a)
                let first = try #require(try await Self.record("a", in: etcd))
                let place = "\(directory)/second"
                mkdir(place, 0o700)
                let ended = try await DaemonProcess.run(
                    .cluster,
                    in: place,
                    machine: SharedDaemonsTests.machine,
                    arguments: SharedDaemonsTests.arguments("a", endpoint)
                ) { second in
                    // It shows what there is, and changes nothing, until it knows that the other one stays.
                    let events = try await SharedDaemonsTests.watch(second)
                    let refused = try await second.ask(
                        \.control,
                        #"{"op":"set","state":"open","data":{"by":"second"}}"#
                    )
                    #expect(refused.error == "unavailable", "\(refused)")
                    var line = try await events.next()
                    while line.type != "bye" { line = try await events.next() }
                    #expect(line.string("reason") == "shutdown")
                }
                #expect(ended.status == .exited(78))
                let said = text(of: "\(place)/stderr")
                #expect(said.contains("is instance \(first.instance), which runs"), "\(said)")
                #expect(said.contains("and this is instance "), "\(said)")
                #expect(said.contains("the setting host"), "\(said)")
                // The first one has not noticed.
                #expect(try await Self.record("a", in: etcd)?.session == first.session)
                let opened = try await a.ask(
                    \.control,
                    #"{"op":"set","state":"open","data":{"by":"a"}}"#
                )
                #expect(opened.ok == true, "\(opened)")
            }
        }
    }
}
#endif
