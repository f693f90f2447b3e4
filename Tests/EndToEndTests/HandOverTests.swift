import Foundation
import Glibc
import TestSupport
import Testing

/// Connections that outlive the process that served them.
@Suite(.bounded) struct HandOverTests {
    @Test func aHundredSubscribersSeeNoEnd() async throws {
        try await withService { service, first in
            let subscribers = try (0..<100).map { _ in try first.connect(\.events) }
            for subscriber in subscribers { _ = try await subscriber.next() }
            let filtered = try first.connect(\.control)
            _ = try await filtered.ask(#"{"op":"watch","id":"f","only":["dataRetrieval"]}"#)

            let second = try await service.restart(first)
            #expect(service.notify.store.isEmpty)
            for subscriber in subscribers + [filtered] {
                let line = try await subscriber.next()
                #expect(line.type == "state")
                #expect(line.string("resync") == "restarted")
            }
            let setter = try second.connect(\.control)
            _ = try await setter.ask("set ready value=true")
            _ = try await setter.ask("set dataRetrieval phase=active")
            for subscriber in subscribers {
                #expect(try await subscriber.next().seq == 1)
                #expect(try await subscriber.next().seq == 2)
            }
            let change = try await filtered.next()
            #expect(change.seq == 2)
            #expect(change.string("id") == "f")
            let stats = try await setter.ask("stats")
            #expect(stats.items("connections")?.count == 102)

            // A connection that was handed over ends like any other.
            second.send(SIGTERM)
            #expect(try await subscribers[0].rest().map { $0.string("reason") } == ["shutdown"])
            for subscriber in subscribers { subscriber.vanish() }
            filtered.vanish()
            setter.vanish()
            #expect(try await second.ended().status == 0)
        }
    }

    @Test func withAHistoryASubscriberSeesOnlyTheNextChange() async throws {
        try await withService(isDurable: true) { service, first in
            let setter = try first.connect(\.control)
            let subscribers = try (0..<100).map { _ in try first.connect(\.events) }
            for subscriber in subscribers { _ = try await subscriber.next() }
            let latest = try first.connect(\.control)
            _ = try await latest.ask(#"{"op":"watch","id":1,"mode":"latest","only":["ready"]}"#)
            let waiter = try first.connect(\.control)
            try waiter.send(#"{"op":"wait","until":["dataRetrieval"]}"#)
            #expect(try await waiter.ask("ping").ok == true)
            let before = try await setter.ask("set ready value=true")
            for subscriber in subscribers + [latest] {
                #expect(try await subscriber.next().seq == 1)
            }

            try await service.notify.wait(for: "STATUS=ready(true), seq 1, 101 watches")
            var daemon = first
            for round in 0..<3 {
                daemon = try await service.restart(daemon)
                // The setter goes on too.
                let reply = try await setter.ask("set ready value=\(round % 2 != 0)")
                #expect(reply.seq == round + 2)
                #expect(reply.string("cursor")?.prefix(9) == before.string("cursor")?.prefix(9))
                for subscriber in subscribers + [latest] {
                    let line = try await subscriber.next()
                    #expect(line.type == "change")
                    #expect(line.seq == round + 2)
                }
            }
            _ = try await setter.ask("set dataRetrieval phase=active")
            let reached = try await waiter.next()
            #expect(reached.string("matched") == "dataRetrieval")
            #expect(!reached.has("resync"))
        }
    }

    /// The client that connected first is taken over first, and may have sent a set meanwhile.
    @Test(arguments: [false, true])
    func aGuardThatIsTakenOverLastIsAskedAboutTheFirstsSet(isDurable: Bool) async throws {
        try await withService(isDurable: isDurable) { service, first in
            let setter = try first.connect(\.control)
            #expect(try await setter.ask("ping").ok == true)
            let vanishing = try first.connect(\.control)
            #expect(try await vanishing.ask("ping").ok == true)
            let others = try (0..<200).map { _ in try first.connect(\.events) }
            for other in others { _ = try await other.next() }
            let voter = try first.connect(\.control)
            _ = try await voter.guard("g", "ready", #""timeoutMs":60000"#)
            #expect(try await first.end(by: SIGUSR2) == 0)
            try setter.send("set ready value=true")
            try vanishing.send(#"{"op":"set","state":"ready","data":{"value":true},"cause":"bye"}"#)
            vanishing.vanish()
            let second = try await service.start()
            for _ in 0..<2 {
                let ask = try await voter.next()
                #expect(ask.type == "ask")
                #expect(try await voter.vote(ask, false, "not now").ok == true)
            }
            #expect(try await setter.next().error == "denied")
            #expect(try await second.end() == 0)
        }
    }

    @Test func withAHistoryAReaderThatWasBehindMissesNothing() async throws {
        try await withService(isDurable: true) { service, first in
            let slow = try first.connect(\.events)
            _ = try await slow.next()
            let paced = try first.connect(\.control)
            _ = try await paced.ask(#"{"op":"watch","id":"p","everyMs":3600000}"#)
            let setter = try first.connect(\.control)
            let cause = String(repeating: "x", count: 200)
            for number in 1...1500 {
                let state = #""state":"ready","data":{"value":\#(number % 2 == 1)}"#
                try setter.send(#"{"op":"set",\#(state),"cause":"\#(cause)"}"#)
                if number % 30 == 0 {
                    for _ in 0..<30 { #expect(try await setter.next().ok == true) }
                }
            }
            // The first change after a quiet interval is sent at once.
            #expect(try await paced.next().seq == 1)

            let second = try await service.restart(first)
            let (changes, live) = try await slow.changes()
            #expect(changes.map(\.seq) == Array(1...1500) && live.type == "live")
            _ = try await second.connect(\.control).ask("set ready value=true")
            #expect(try await slow.next().seq == 1501)
        }
    }

    @Test func whatWasHalfSaidIsFinished() async throws {
        try await withService { service, first in
            let client = try first.connect(\.control)
            #expect(try await client.ask("ping").seq == 0)
            try client.send(raw: "pi")
            // The reply shows that the half-line has been read: one loop reads both connections.
            #expect(try await first.connect(\.control).ask("ping").seq == 0)
            let second = try await service.restart(first)
            try client.send(raw: "ng\n")
            #expect(try await client.next().ok == true)
            client.endInput()
            #expect(try await client.nextLine() == nil)
            #expect(try await second.end() == 0)
        }
    }

    @Test func holdsGuardsAndWaitsGoOn() async throws {
        try await withService { service, first in
            let holder = try first.connect(\.control)
            let number = try await holder.hold("dataRetrieval", #""why":"busy""#)
            let guarding = try first.connect(\.control)
            let guarded = try await guarding.ask(
                #"{"op":"guard","id":9,"before":["authentication"],"timeoutMs":60000}"#
            )
            let guardNumber = try #require(guarded.int("guard"))
            let waiter = try first.connect(\.control)
            try waiter.send(
                #"{"op":"wait","id":3,"until":["ready:value=true"],"timeoutMs":600000}"#
            )
            #expect(try await waiter.ask("ping").ok == true)

            let second = try await service.restart(first)
            let setter = try second.connect(\.control)
            let denied = try await setter.ask("set dataRetrieval phase=active")
            #expect(denied.error == "denied")
            #expect(denied.items("by")?.first?.int("hold") == number)
            #expect(try await setter.ask("release \(number)").ok == true)
            #expect(try await setter.ask("set dataRetrieval phase=active").ok == true)

            try setter.send("set authentication phase=active")
            let question = try await guarding.next()
            #expect(question.type == "ask")
            #expect(question.int("id") == 9)
            let ask = try #require(question.int("ask"))
            // No number is given out twice.
            #expect(ask > guardNumber)
            #expect(try await guarding.vote(question, true).ok == true)
            #expect(try await setter.next().bool("changed") == true)

            #expect(try await setter.ask("set ready value=true").ok == true)
            let reached = try await waiter.next()
            #expect(reached.int("id") == 3)
            #expect(reached.string("matched") == "ready:value=true")
            #expect(reached.string("resync") == "restarted")
        }
    }

    @Test func aWaitIsRefusedWithTheTimeThatItAskedFor() async throws {
        try await withService { service, first in
            let waiter = try first.connect(\.control)
            try waiter.send(#"{"op":"wait","until":["ready:value=true"],"timeoutMs":3000}"#)
            #expect(try await waiter.ask("ping").ok == true)

            let second = try await service.restart(first)
            let refused = try await waiter.next()
            #expect(refused.error == "timeout")
            let message = try #require(refused.string("message"))
            #expect(message.contains(" after 3000 ms, "), "\(message)")
            #expect(try await second.end() == 0)
        }
    }

    @Test func aReaderThatWasBehindGetsWholeLines() async throws {
        try await withService { service, first in
            let slow = try first.connect(\.events)
            _ = try await slow.next()
            let asking = try first.connect(\.control)
            let setter = try first.connect(\.control)
            // More than a socket buffer holds: changes for one client, replies for the other.
            let cause = String(repeating: "x", count: 200)
            for number in 0..<2000 {
                let state = #""state":"ready","data":{"value":\#(number % 2 == 0)}"#
                _ = try await setter.ask(#"{"op":"set",\#(state),"cause":"\#(cause)"}"#)
            }
            for number in 0..<200 { try asking.send(#"{"op":"describe","id":\#(number)}"#) }
            try asking.waitForInput()
            _ = try await setter.ask("ping")

            let second = try await service.restart(first)
            let (changes, last) = try await slow.changes()
            #expect(changes.map(\.seq) == Array(1...changes.count))
            #expect(changes.count < 2000)
            #expect(last.string("resync") == "restarted")
            for number in 0..<200 { #expect(try await asking.next().int("id") == number) }
            #expect(try await second.connect(\.control).ask("set ready value=true").ok == true)
            #expect(try await slow.next().type == "change")
        }
    }

    @Test func whoWentMeanwhileIsGone() async throws {
        try await withService { service, first in
            let gone = try first.connect(\.events)
            let staying = try first.connect(\.events)
            for client in [gone, staying] { _ = try await client.next() }
            #expect(try await first.end(by: SIGUSR2) == 0)
            gone.vanish()
            let second = try await service.start()
            #expect(try await staying.next().string("resync") == "restarted")
            let asker = try second.connect(\.control)
            #expect(try await asker.ask("set ready value=true").ok == true)
            #expect(try await staying.next().seq == 1)
            #expect(try await asker.ask("stats").items("connections")?.count == 2)
        }
    }

    @Test(arguments: [0, 1, 6])
    func withoutRoomForAllEverybodyIsToldToComeBack(room: Int) async throws {
        try await withService(storeLimit: room) { service, first in
            let clients = try (0..<6).map { _ in try first.connect(\.events) }
            for client in clients { _ = try await client.next() }
            first.send(SIGUSR2)
            for client in clients {
                let farewell = try await client.rest()
                #expect(farewell.map(\.type) == ["bye"])
                #expect(farewell.first?.string("reason") == "restart")
                #expect(farewell.first?.int("retryMs") == 200)
            }
            #expect(try await first.ended().status == 0)
            #expect(service.notify.store.isEmpty)
        }
    }

    /// The manager hands back its descriptors in no particular order.
    @Test(arguments: [false, true])
    func aRecordThatCannotBeReadCostsNobodyWhoIsInAnother(isFirst: Bool) async throws {
        try await withService(isDurable: true) { service, first in
            let clients = try (0..<3).map { _ in try first.connect(\.events) }
            for client in clients { _ = try await client.next() }
            #expect(try await first.end(by: SIGUSR2) == 0)
            let bad = Descriptor(open("/dev/zero", O_RDWR | O_CLOEXEC), name: "handover")
            let stored = service.notify.store
            let second = try await service.start(handing: isFirst ? [bad] + stored : stored + [bad])
            let setter = try second.connect(\.control)
            #expect(try await setter.ask("set ready value=true").seq == 1)
            for client in clients {
                let line = try await client.next()
                #expect(line.type == "change")
                #expect(line.seq == 1)
            }
            second.send(SIGTERM)
            let errors = try await second.ended().errors
            #expect(errors.contains("it is not sealed memory"))
            #expect(!errors.contains("the descriptor store holds unknown descriptors"))
        }
    }

    /// As when the manager was too busy to remove the older record from the store.
    @Test(arguments: [false, true])
    func ofTwoRecordsOfAConnectionTheNewerIsRight(isOlderFirst: Bool) async throws {
        try await withService(isDurable: true) { service, first in
            let subscriber = try first.connect(\.events)
            let setter = try first.connect(\.control)
            _ = try await subscriber.next()
            #expect(try await first.end(by: SIGUSR2) == 0)
            let older = service.notify.store.filter { $0.name == "handover" }

            let second = try await service.start()
            #expect(try await setter.ask("set ready value=true").seq == 1)
            #expect(try await subscriber.next().seq == 1)
            #expect(try await second.end(by: SIGUSR2) == 0)
            let newer = service.notify.store

            let third = try await service.start(
                handing: isOlderFirst ? older + newer : newer + older
            )
            #expect(try await setter.ask("set ready value=false").seq == 2)
            // With the older record it would be sent the first change again.
            #expect(try await subscriber.next().seq == 2)
            #expect(try await third.end() == 0)
        }
    }

    @Test func garbageInTheStoreIsDropped() async throws {
        try await withService { service, first in
            let client = try first.connect(\.events)
            _ = try await client.next()
            #expect(try await first.end(by: SIGUSR2) == 0)
            // The record is garbage now, and the store holds descriptors of others beside it.
            for descriptor in service.notify.store where descriptor.name == "handover" {
                let null = open("/dev/zero", O_RDONLY)
                dup2(null, descriptor.number)
                close(null)
            }
            for name in ["connection", "stored", "handover", "probe"] {
                service.notify.store(Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), name: name))
            }
            for one in Descriptor.pair(named: "other", "another") { service.notify.store(one) }
            let second = try await service.start()
            #expect(service.notify.store.isEmpty)
            #expect(try await second.connect(\.control).ask("ping").ok == true)
            #expect(try await client.nextLine() == nil)
            second.send(SIGTERM)
            let errors = try await second.ended().errors
            #expect(errors.contains("it is not sealed memory"))
            #expect(errors.contains("the descriptor store holds unknown descriptors"))
            #expect(errors.contains("stored: not a socket"), "\(errors)")
            #expect(errors.contains("probe: not a socket"), "\(errors)")
            #expect(errors.contains("other: a connected Unix stream socket"), "\(errors)")
            #expect(errors.contains("connections=2"), "\(errors)")
        }
    }
}
