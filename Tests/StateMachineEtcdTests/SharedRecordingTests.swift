#if Cluster
import Glibc
import NIOCore
import NIOPosix
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineCore
@testable import StateMachineEtcd

/// Machines that share their state over a real etcd, each in this process as at a host of its own.
@Suite(.enabled(if: EtcdProcess.isInstalled))
struct SharedRecordingTests {
    @Test(.timeLimit(.minutes(1)))
    func whatEachSetsAllSeeInOneOrder() async throws {
        try await EtcdProcess.run { etcd, _ in
            let hosts = await SharingHost<Lantern>.all(["a", "b", "c"], at: etcd.endpoint)
            let each = 40
            try await withThrowingTaskGroup { group in
                for host in hosts {
                    group.addTask {
                        for number in 0..<each {
                            _ = try await host.machine.propose(.lit(by: host.name, number))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let all = UInt64(hosts.count * each)
            for host in hosts { await host.hears(seq: all) }
            let first = hosts[0].heard
            #expect(first.map(\.seq) == Array(1...all))
            #expect(Set(first.map(\.text)).count == first.count)
            // None goes back, though each is made by its own host's clock.
            #expect(first.map(\.at) == first.map(\.at).sorted())
            for host in hosts { #expect(host.heard == first) }
            #expect(Set(hosts.map { $0.epoch }).count == 1)
            for host in hosts { await host.end() }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func ofSetsThatExpectTheSameSeqOneSucceeds() async throws {
        try await EtcdProcess.run { etcd, _ in
            let hosts = await SharingHost<Lantern>.all(["a", "b", "c"], at: etcd.endpoint)
            for round in 0..<20 {
                let seq = UInt64(round)
                let outcomes = await withTaskGroup(of: Bool?.self) { group in
                    for host in hosts {
                        group.addTask {
                            do {
                                _ = try await host.machine.assign(
                                    .lit(by: host.name, round),
                                    ifSeq: seq
                                )
                                return true
                            } catch let error as TransitionError<Lantern> {
                                return error.reason == .conflict ? false : nil
                            } catch {
                                return nil
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(outcomes.count { $0 == true } == 1, "round \(round): \(outcomes)")
                #expect(outcomes.count { $0 == false } == 2, "round \(round): \(outcomes)")
                for host in hosts { await host.hears(seq: seq + 1) }
            }
            for host in hosts { await host.end() }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHostThatComesLaterBeginsWhereTheOthersAre() async throws {
        try await EtcdProcess.run { etcd, _ in
            let first = await SharingHost<Lantern>("a", at: etcd.endpoint)
            for number in 1...3 { _ = try await first.machine.propose(.lit(by: "a", number)) }
            let second = await SharingHost<Lantern>("b", at: etcd.endpoint)
            #expect(second.machine.snapshot.seq == 3)
            #expect(second.machine.state == .lit(by: "a", 3))
            #expect(second.epoch == first.epoch)
            _ = try await second.machine.assign(.dark, ifSeq: 3)
            await first.hears(seq: 4)
            #expect(first.machine.state == .dark)
            await first.end()
            await second.end()
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func whatIsSetWhileTheEngineStandsStillIsRefusedOrUnsureAndNeverLost() async throws {
        try await EtcdProcess.run { etcd, _ in
            let hosts = await SharingHost<Lantern>.all(["a", "b"], at: etcd.endpoint)
            _ = try await hosts[0].machine.propose(.lit(by: "a", 0))
            for host in hosts { await host.hears(seq: 1) }
            kill(etcd.pid, SIGSTOP)
            let outcomes = await withTaskGroup(of: SharingAttempt<Lantern>.self) { group in
                for (index, host) in hosts.enumerated() {
                    group.addTask { await host.attempt(.lit(by: host.name, 1 + index)) }
                }
                return await group.reduce(into: [SharingAttempt<Lantern>]()) { $0.append($1) }
            }
            for outcome in outcomes { #expect(outcome.fate != .made, "\(outcome)") }
            for host in hosts { await host.isDown() }
            // Known at once that nothing is sent.
            let refused = await hosts[0].attempt(.lit(by: "a", 9))
            #expect(refused.fate == .refused)
            kill(etcd.pid, SIGCONT)
            for host in hosts { await host.isUp() }
            _ = try await hosts[0].machine.propose(.lit(by: "a", 10))
            _ = try await hosts[1].machine.propose(.lit(by: "b", 11))
            let head = hosts[1].machine.snapshot.seq
            for host in hosts { await host.hears(seq: head) }
            #expect(hosts[0].heard == hosts[1].heard)
            #expect(hosts[0].heard.map(\.seq) == Array(1...head))
            for outcome in outcomes + [refused] {
                let count = hosts[0].heard.count { $0.text == outcome.state.description }
                #expect(count <= (outcome.fate == .unsure ? 1 : 0), "\(outcome)")
            }
            for host in hosts { await host.end() }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func anEngineThatWasKilledIsCaughtUpWithoutAGap() async throws {
        try await withTemporaryDirectory { directory in
            let etcd = try await EtcdProcess(in: directory)
            let hosts = await SharingHost<Lantern>.all(["a", "b"], at: etcd.endpoint)
            _ = try await hosts[0].machine.propose(.lit(by: "a", 0))
            try await etcd.process.end(by: SIGKILL)
            for host in hosts { await host.isDown() }
            let lost = await hosts[1].attempt(.lit(by: "b", 1))
            #expect(lost.fate == .refused)
            let again = try await EtcdProcess(in: directory, at: etcd.endpoint)
            for host in hosts { await host.isUp() }
            for number in 2...20 {
                _ = try await hosts[number % 2].machine.propose(.lit(by: "x", number))
            }
            for host in hosts {
                await host.hears(seq: 20)
                #expect(host.heard.map(\.seq) == Array(1...20))
                #expect(!host.heard.contains { $0.text == lost.state.description })
            }
            for host in hosts { await host.end() }
            try await again.process.end(by: SIGKILL)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aHostThatWasAwayLearnsWhatWasDoneMeanwhile() async throws {
        try await EtcdProcess.run { etcd, _ in
            let one = await SharingHost<Lantern>("a", at: etcd.endpoint)
            let relay = try await Relay(to: etcd.endpoint)
            let away = await SharingHost<Lantern>("b", at: relay.endpoint)
            _ = try await one.machine.propose(.lit(by: "a", 0))
            await away.hears(seq: 1)
            try await relay.cut()
            await away.isDown()
            for number in 1...50 { _ = try await one.machine.propose(.lit(by: "a", number)) }
            try await relay.mend()
            await away.isUp()
            await away.hears(seq: 51)
            #expect(away.heard == one.heard)
            _ = try await away.machine.assign(.dark, ifSeq: 51)
            await one.hears(seq: 52)
            await one.end()
            await away.end()
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func anOlderSnapshotOfTheEngineIsAnotherNumbering() async throws {
        try await withTemporaryDirectory { directory in
            let etcd = try await EtcdProcess(in: directory)
            let host = await SharingHost<Lantern>("a", at: etcd.endpoint)
            let epoch = host.epoch
            _ = try await host.machine.propose(.lit(by: "a", 1))
            try await etcd.etcdctl("snapshot", "save", "\(directory)/snapshot")
            for number in 2...5 { _ = try await host.machine.propose(.lit(by: "a", number)) }
            let again = try await etcd.putBack("\(directory)/snapshot", in: directory)
            await host.isAt(arrival: 2)
            await host.isUp()
            #expect(host.epoch != epoch)
            #expect(host.machine.state == .lit(by: "a", 1))
            _ = try await host.machine.propose(.dark)
            #expect(host.machine.snapshot.seq == 2)
            await host.end()
            try await again.process.end(by: SIGKILL)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aMachineThatNobodyHasPlacedDecidesNothing() async throws {
        let port = try EtcdProcess.freePorts(1)[0]
        let nobody = try EtcdEndpoint("http://127.0.0.1:\(port)")
        let host = SharingHost<Lantern>(unplaced: "a", at: nobody)
        let troubles = await host.isCutOff()
        #expect(troubles.count == 1)
        #expect(!host.machine.machine.isPlaced)
        #expect(await host.confirm() == .engine)
        await host.end()
    }

    @Test(.timeLimit(.minutes(1)))
    func aStateThatAHostDoesNotHaveIsPassedByAndItArrivesBehindIt() async throws {
        try await EtcdProcess.run { etcd, _ in
            let newer = await SharingHost<Lantern>("a", at: etcd.endpoint)
            let older = await SharingHost<EarlierLantern>("b", at: etcd.endpoint)
            _ = try await newer.machine.propose(.lit(by: "a", 1))
            await older.hears(seq: 1)
            _ = try await newer.machine.propose(.blinking)
            await older.isDown(.form)
            #expect(older.machine.snapshot.seq == 1)
            let refused = await older.attempt(.dark)
            #expect(refused.fate == .refused)
            _ = try await newer.machine.propose(.dark)
            await older.isUp()
            #expect(older.machine.snapshot.seq == 3)
            #expect(older.machine.state == .dark)
            await newer.end()
            await older.end()
        }
    }
}
#endif
