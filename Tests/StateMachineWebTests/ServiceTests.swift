#if Web
import Foundation
import Glibc
import Subprocess
import TestSupport
import Testing

@testable import StateMachineWeb

/// The built service in front of a real daemon, asked over HTTP.
@Suite(.bounded) struct ServiceTests {
    private static let machine = """
        machine: text
        start: empty
        always: [empty, full]
        states:
          empty: {}
          full:
            fields: {text: {type: string, max: 62000}}
        """

    /// A daemon with a history, for a machine with a text in it.
    private func withDaemon(
        in directory: String,
        _ body: @escaping @Sendable (DaemonProcess) async throws -> Void
    ) async throws {
        _ = try await DaemonProcess.run(
            in: directory,
            machine: Self.machine,
            isDurable: true,
            arguments: ["--log-level", "error"],
            body
        )
    }

    /// The same with the service in front of it, which is ended.
    private func withService(
        _ body: @escaping @Sendable (DaemonProcess, WebProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await self.withDaemon(in: directory) { daemon in
                let web = try await WebProcess(in: directory, daemon.directory)
                try await body(daemon, web)
                #expect(try await web.end() == 0)
            }
        }
    }

    private func set(_ daemon: DaemonProcess, _ text: String, cause: String? = nil) async throws {
        let data = try JSONSerialization.data(withJSONObject: ["text": text])
        var request =
            #"{"op":"set","state":"full","data":\#(String(decoding: data, as: UTF8.self))"#
        if let cause {
            let json = try JSONSerialization.data(withJSONObject: [cause])
            request += #","cause":\#(String(decoding: json, as: UTF8.self).dropFirst().dropLast())"#
        }
        #expect(try await daemon.ask(\.control, request + "}").ok == true)
    }

    @Test func theStateHasATagAndCanBeWaitedFor() async throws {
        try await self.withService { daemon, web in
            // The first request, which does not overtake the service's own connection to the
            // daemon.
            let first = try await web.get("/machines/run")
            #expect(first.status == "HTTP/1.1 200 OK")
            #expect(try JSONLine(first.body).state == "empty")
            let tag = try #require(first.fields["etag"])
            let same = try await web.get("/machines/run", "If-None-Match: \(tag)")
            #expect(same.status == "HTTP/1.1 304 Not Modified")
            let marked = "If-None-Match: W/\(tag.dropLast())-gzip\""
            #expect(try await web.get("/machines/run?wait=0", marked).status.contains("304"))
            async let waiting = web.get("/machines/run?wait=60", "If-None-Match: \(tag)")
            try await self.set(daemon, "now")
            let next = try await waiting
            #expect(next.status == "HTTP/1.1 200 OK")
            #expect(try JSONLine(next.body).state == "full")
            #expect(next.fields["etag"] != tag)
            #expect(try await web.get("/machines/run?wait=61").status.contains("400"))
            #expect(try await web.get("/machines/none").status.contains("404"))
            let metrics = try await web.get("/metrics").body
            let labels = #"{machine="text",instance="run""#
            for sample in [
                "changes_total\(labels)} 1", #"up{instance="run"} 1"#,
                #"state\#(labels),state="full"} 1"#, #"state\#(labels),state="empty"} 0"#,
                #"transitions_total\#(labels),from="empty",to="full"} 1"#,
            ] {
                #expect(metrics.contains("statemachine_\(sample)\n"), "\(metrics)")
            }
        }
    }

    /// The next event of that kind, which has to be about that machine.
    private static func next(
        _ events: LineSocket,
        _ kind: String,
        _ instance: String
    ) async throws -> Event {
        let event = try await events.event(kind)
        #expect(event.data.string("instance") == instance)
        #expect(event.data.description.hasPrefix(#"{"instance":""#))
        return event
    }

    @Test func oneStreamHasAllMachinesAndContinuesAfterItsID() async throws {
        try await withTemporaryDirectory { directory in
            let (first, second) = ("\(directory)/a", "\(directory)/b")
            for path in [first, second] { try makeDirectory(path) }
            try await self.withDaemon(in: first) { one in
                // Two directories of one name: the second machine is run-2.
                let web = try await WebProcess(
                    in: directory,
                    one.directory,
                    "--runtime-directory",
                    "\(second)/run"
                )
                // Known before the stream begins, so that it comes first.
                _ = try await web.get("/machines/run")
                let events = try web.allEvents()
                #expect(try await Self.next(events, "state", "run").data.seq == 0)
                #expect(try await Self.next(events, "gone", "run-2").data.string("message") != nil)
                try await self.withDaemon(in: second) { two in
                    _ = try await Self.next(events, "back", "run-2")
                    #expect(try await Self.next(events, "state", "run-2").data.seq == 0)
                    try await self.set(two, "1")
                    #expect(try await Self.next(events, "change", "run-2").data.seq == 1)
                    try await self.set(one, "1")
                    let change = try await Self.next(events, "change", "run")
                    #expect(change.data.seq == 1)
                    try await self.set(one, "2")
                    try await self.set(two, "2")
                    let again = try web.allEvents(after: change.id)
                    var seen: [String: Int] = [:]
                    for _ in 0..<2 {
                        let event = try await again.event()
                        #expect(event.kind == "change")
                        seen[event.data.string("instance") ?? ""] = event.data.seq
                    }
                    #expect(seen == ["run": 2, "run-2": 2])
                    // Events of both may have come in any order; the last id has both.
                    let (third, fourth) = (try await events.event(), try await events.event())
                    #expect([third.kind, fourth.kind] == ["change", "change"])
                    let rest = try web.allEvents(after: fourth.id)
                    try await self.set(two, "3")
                    let last = try await rest.event()
                    #expect(last.data.string("instance") == "run-2")
                    #expect(last.data.seq == 3)
                }
                #expect(try await web.end() == 0)
            }
        }
    }

    @Test func aClientOfHTTP10GetsNoChunksAndTheEndOfTheConnection() async throws {
        try await withTemporaryDirectory { directory in
            try await self.withDaemon(in: directory) { daemon in
                let web = try await WebProcess(in: directory, daemon.directory)
                _ = try await web.get("/machines/run")
                let answer = try await web.old("/machines/run", "Connection: keep-alive").allLines()
                #expect(answer.first == "HTTP/1.0 200 OK\r")
                #expect(try JSONLine(answer.last ?? "").state == "empty")
                let stream = try web.old("/machines/run/events")
                #expect(try await stream.nextLine() == "HTTP/1.0 200 OK\r")
                while let line = try await stream.nextLine(), line != "\r" {
                    #expect(!line.lowercased().hasPrefix("transfer-encoding"))
                }
                #expect(try await stream.nextLine() == "retry: 500")
                #expect(try await stream.event().kind == "state")
                #expect(try await web.end() == 0)
                #expect(try await stream.allLines() == ["", ""])
            }
        }
    }

    @Test(arguments: [
        (["--listen", "18201"], "write 127.0.0.1:8080, [::1]:8080, localhost:8080 or unix:PATH"),
        (["--listen", "0.0.0.0:8080"], "is open to other machines"),
        (["--host", "page.example:8443"], "without a port or a path"),
        (
            (0...64).flatMap { ["--runtime-directory", "/run/m\($0)"] },
            "there are 65 directories, but a page shows at most 64 machines"
        ),
        (["--listen", "0.0.0.0:0"], "--i-know-it-is-open"), (["--listen", "nonsense"], "--listen"),
        (["--runtime-directory", ""], "empty"), (["--host", ""], "empty"),
    ])
    func whatCannotBeServedIsAnErrorOfUsage(words: [String], sentence: String) async throws {
        let ended = try await BuiltProduct.web.run(words)
        #expect(ended.status == .exited(64))
        #expect(ended.errors.contains(sentence), "\(ended.errors)")
    }

    @Test func aSocketIsForEverybodyAndRemovedByWhoMadeIt() async throws {
        try await withTemporaryDirectory { directory in
            try await self.withDaemon(in: directory) { daemon in
                // Named after the directory that the path leads to.
                let web = try await WebProcess(in: directory, "\(daemon.directory)/../run/.")
                #expect(try await web.get("/machines/run").status == "HTTP/1.1 200 OK")
                var status = stat()
                #expect(stat(web.path, &status) == 0 && status.st_mode & 0o777 == 0o666)
                // Another program's file, put in its position.
                #expect(rename(web.path, "\(web.path).old") == 0)
                #expect(FileManager.default.createFile(atPath: web.path, contents: nil))
                #expect(try await web.end() == 0)
                #expect(FileManager.default.fileExists(atPath: web.path))
            }
        }
    }

    @Test func aStreamGoesOnOverRestartsOfBothWithNothingLostOrDoubled() async throws {
        try await withTemporaryDirectory { directory in
            let runtime = "\(directory)/run"
            let web = try await WebProcess(in: directory, runtime)
            let events = try web.events()
            #expect(try await events.event().kind == "gone")
            var seen: String?
            try await self.withDaemon(in: directory) { daemon in
                #expect(try await events.event("state").data.seq == 0)
                for number in 1...3 { try await self.set(daemon, "\(number)") }
                for number in 1...3 {
                    #expect(try await events.event("change").data.seq == number)
                }
            }
            #expect(try await events.event().kind == "gone")
            try await self.withDaemon(in: directory) { daemon in
                #expect(try await events.event().kind == "back")
                for number in 4...6 { try await self.set(daemon, "\(number)") }
                for number in 4...6 {
                    #expect(try await events.event("change").data.seq == number)
                }
                try await self.set(daemon, "7")
            }
            let last = try await events.event("change")
            seen = last.id
            #expect(last.data.seq == 7)
            #expect(try await web.end() == 0)
            let id = try #require(seen)
            try await self.withDaemon(in: directory) { daemon in
                for number in 8...100 { try await self.set(daemon, "\(number)") }
                let next = try await WebProcess(in: directory, runtime)
                let again = try next.events(after: id)
                for number in 8...100 {
                    let event = try await again.event()
                    #expect(event.kind == "change")
                    #expect(event.data.seq == number)
                }
                try await self.set(daemon, "101")
                #expect(try await again.event().data.seq == 101)
                let strange = try next.events(after: "00000000:5")
                let event = try await strange.event()
                #expect(event.kind == "state")
                #expect(event.data.string("resync") == "restarted")
                #expect(try await next.end() == 0)
            }
        }
    }

    @Test func aReaderThatHasStoppedIsToldWhatItMissedAndSlowsNobody() async throws {
        try await self.withService { daemon, web in
            let stopped = try web.events()
            #expect(try await stopped.event("state").data.seq == 0)
            let other = try web.events()
            #expect(try await other.event("state").data.seq == 0)
            // More than the ring and the sockets hold.
            for number in 1...120 {
                try await self.set(daemon, String(repeating: "x", count: 60_000) + "\(number)")
                #expect(try await other.event().data.seq == number)
            }
            var event = try await stopped.event()
            var last = 0
            while event.kind == "change" {
                #expect(event.data.seq == last + 1)
                last += 1
                event = try await stopped.event()
            }
            #expect(event.kind == "state")
            #expect(event.data.string("resync") == "lagged")
            #expect(event.data.seq == 120)
            #expect(event.data.int("missed") == 120 - last)
            try await self.set(daemon, "after")
            #expect(try await stopped.event().data.seq == 121)
        }
    }

    /// It may have been removed, and made anew by another one.
    @Test func theSocketOfASuccessorStays() async throws {
        try await withTemporaryDirectory { directory in
            try await self.withDaemon(in: directory) { daemon in
                // As long as a socket's path may be.
                let name = String(repeating: "w", count: 106 - directory.utf8.count)
                let path = "\(directory)/\(name)"
                let web = try await WebProcess(in: directory, daemon.directory, at: path)
                try FileManager.default.removeItem(atPath: path)
                let next = try await WebProcess(in: directory, daemon.directory, at: path)
                #expect(try await web.end() == 0)
                #expect(try await next.get("/machines").status == "HTTP/1.1 200 OK")
                #expect(try await next.end() == 0)
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test func hostileTextStaysTextInOneLine() async throws {
        try await self.withService { daemon, web in
            let events = try web.events()
            _ = try await events.event("state")
            let evil =
                "\u{1b}[2J</script><script>x()</script>\n\nevent: gone\ndata: {}\n\n\u{2028}"
            try await self.set(daemon, evil, cause: "<script>\u{1b}[31m</script>")
            let event = try await events.event()
            #expect(event.kind == "change")
            #expect(event.data.item("data")?.string("text") == evil)
            #expect(!event.data.description.contains("\u{1b}"))
            let page = try await web.get("/")
            #expect(page.fields["content-type"] == "text/html; charset=utf-8")
            let policy = try #require(page.fields["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'sha256-"))
            #expect(!policy.contains("unsafe"))
            #expect(page.body.components(separatedBy: "<script").count == 2)
        }
    }

    /// A page without machines, under a name of its own besides those of this computer.
    private func withNamedPage(
        at path: String? = nil,
        _ body: (WebProcess) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let none = "\(directory)/none"
            let web = try await WebProcess(in: directory, none, "--host", "page.example", at: path)
            try await body(web)
            #expect(try await web.end() == 0)
        }
    }

    @Test func anotherHostsPageIsRefused() async throws {
        try await self.withNamedPage { (web) async throws in
            #expect(try await web.get("/machines", "Host: page.example").status.contains("200"))
            #expect(try await web.get("/machines", "Host: evil.example").status.contains("421"))
            let origin = "Origin: http://evil.example"
            #expect(
                try await web.get("/machines", "Host: page.example", origin).status.contains("421")
            )
            let cross = "Sec-Fetch-Site: cross-site"
            #expect(try await web.get("/machines", cross).status.contains("421"))
            let link = "Sec-Fetch-Mode: navigate"
            #expect(try await web.get("/machines", cross, link).status.contains("200"))
            #expect(try await web.get("/machines/none").status.contains("503"))
        }
    }

    /// Connects that often and sends that, without reading.
    private func crowd(
        _ count: Int,
        at web: WebProcess,
        sending text: String
    ) throws -> [LineSocket] {
        try Backlog.raiseDescriptors()
        return try (0..<count).map { _ in
            let socket = try web.connect()
            try socket.send(raw: text)
            return socket
        }
    }

    private static let stream = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Those that are idle, and those that have sent half a request, go.
    @Test(arguments: ["", "GET / HTTP/1.1\r\nHost: loc"])
    func whoeverAsksIsAnsweredBesideManyWhoDoNot(sent: String) async throws {
        try await self.withNamedPage { web in
            let others = try self.crowd(600, at: web, sending: sent)
            #expect(try await web.get("/machines").status.contains("200"))
            // The first had to go for the last ones.
            #expect(try await others[0].nextLine() == nil)
            let last = others[599]
            try last.send(raw: sent.isEmpty ? Self.stream : "alhost\r\n\r\n")
            #expect(try await last.nextLine() == "HTTP/1.1 200 OK\r")
        }
    }

    /// Everybody behind a socket in the file system shares these positions; streams never go for others.
    @Test func streamsLeaveRoomForRequestsAndARefusedOneEndsItsConnection() async throws {
        try await self.withNamedPage { web in
            let most = Connections<Int>.most.following
            let streams = try self.crowd(most, at: web, sending: Self.stream)
            for stream in streams { #expect(try await stream.nextLine() == "HTTP/1.1 200 OK\r") }
            let refused = try await self.crowd(1, at: web, sending: Self.stream)[0].allLines()
            #expect(refused.first == "HTTP/1.1 503 Service Unavailable\r")
            #expect(
                refused.contains(
                    "there are \(most) streams and waits, the most that are allowed; close some"
                )
            )
            let waits = try self.crowd(100, at: web, sending: "")
            #expect(try await web.get("/machines").status.contains("200"))
            #expect(try await web.get("/machines/none?wait=1").status.contains("503"))
            // One that ends has left its position.
            streams[0].vanish()
            var status = ""
            while !status.contains("200") {
                let next = try self.crowd(1, at: web, sending: Self.stream)[0]
                status = try await next.nextLine() ?? ""
            }
            #expect(waits.count == 100)
            #expect(try await streams[1].nextLine() != nil)
        }
    }

    @Test func oneAddressLeavesPlacesForOthers() async throws {
        try await self.withNamedPage(at: WebProcess.port) { web in
            let most = Connections<Int>.ofOne
            let streams = try self.crowd(most.following, at: web, sending: Self.stream)
            for stream in streams { #expect(try await stream.nextLine() == "HTTP/1.1 200 OK\r") }
            let refused = try await self.crowd(1, at: web, sending: Self.stream)[0].allLines()
            #expect(refused.first == "HTTP/1.1 429 Too Many Requests\r")
            // Those that came first go for the last one, long before all positions are taken.
            let idle = try self.crowd(most.all, at: web, sending: "")
            #expect(try await idle[0].nextLine() == nil)
            let last = idle[most.all - 1]
            try last.send(raw: "GET /machines HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await last.nextLine() == "HTTP/1.1 200 OK\r")
            #expect(try await streams[0].nextLine() != nil)
        }
    }

    /// Sockets on which nobody answers, as a daemon that was killed leaves them.
    private func leaveSockets(_ count: Int, in directory: String) throws -> [Descriptor] {
        try (0..<count).map { number in
            try makeDirectory("\(directory)/job\(number)")
            return try Descriptor.socket(
                named: "events",
                at: "\(directory)/job\(number)/events.sock",
                listening: false
            )
        }
    }

    @Test func aNewMachineIsShownThoughMoreThanAreShownHaveEnded() async throws {
        try await withTemporaryDirectory { directory in
            let base = "\(directory)/base"
            try makeDirectory(base)
            let sockets = try self.leaveSockets(64, in: base)
            let web = try await WebProcess(all: base, in: directory)
            let gone = try web.allEvents()
            for _ in 0..<64 { _ = try await gone.event("gone") }
            let before = try await self.names(web)
            let streams = try before.map { ($0, try web.events(of: $0)) }
            for (_, stream) in streams { #expect(try await stream.event().kind == "gone") }
            for number in 0..<64 {
                try FileManager.default.removeItem(atPath: "\(base)/job\(number)")
            }
            try await self.withDaemon(in: base) { daemon in
                let state = try await gone.event("state")
                #expect(state.data.string("instance") == "run")
                let names = try await self.names(web)
                #expect(names.count == 64)
                #expect(names.contains("run"))
                // One had to go, and its own stream ends with it, with the last of its chunks.
                let left = Set(before).subtracting(names)
                #expect(left.count == 1)
                for (name, stream) in streams where left.contains(name) {
                    while let line = try await stream.nextLine(), line != "0\r" {}
                    #expect(try await web.get("/machines/\(name)").status.contains("404"))
                }
            }
            #expect(try await web.end() == 0)
            withExtendedLifetime(sockets) {}
        }
    }

    private func names(_ web: WebProcess) async throws -> [String] {
        let body = try await web.get("/machines").body
        let list = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [[String: Any]]
        return (list ?? []).compactMap { $0["name"] as? String }
    }

    @Test func theListSaysWhoStandsAroundEachMachine() async throws {
        try await self.withService { daemon, web in
            let hold = try daemon.connect(\.control)
            #expect(
                try await hold.ask(#"{"op":"hold","before":["full"],"why":"a test"}"#).ok == true
            )
            _ = try await web.get("/machines/run")
            let body = try JSONLine(try await web.get("/overview").body)
            let machine = try #require(body.items("machines")?.first)
            #expect(machine.string("name") == "run")
            #expect(machine.string("machine") == "text")
            #expect(machine.items("holds")?.first?.string("why") == "a test")
            #expect(body.int("hidden") == 0)
        }
    }

    /// The graph of an answer that is still fresh is the former file's.
    @Test func aReloadedFileIsInTheNextAnswer() async throws {
        try await self.withService { daemon, web in
            let events = try web.events()
            _ = try await events.event("state")
            #expect(!(try await web.get("/machines/run/overview").body.contains("third")))
            let file = "\(daemon.directory.dropLast(3))machine.yaml"
            let text = Self.machine + "\n  third: {}\n"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            try daemon.send(.terminalClosed)
            _ = try await events.event("declared")
            #expect(try await web.get("/machines/run/overview").body.contains("third"))
        }
    }

    /// RFC 9112, section 3.2.
    @Test(arguments: [
        ("/machines", ["localhost", "localhost"], "421"),
        ("/machines", ["localhost", "evil.example"], "421"),
        ("http://evil.example/machines", ["localhost"], "421"),
        ("http://evil.example?x", ["localhost"], "421"),
        ("http://localhost:1/machines", ["evil.example"], "200"),
        ("http://localhost/machines", ["localhost", "localhost"], "421"),
    ])
    func aRequestIsForOneHost(target: String, hosts: [String], status: String) async throws {
        try await self.withNamedPage { web in
            let fields = hosts.map { "Host: \($0)\r\n" }.joined()
            let socket = try LineSocket(connectingTo: web.path)
            try socket.send(raw: "GET \(target) HTTP/1.1\r\n\(fields)Connection: close\r\n\r\n")
            #expect(try await socket.nextLine()?.contains(status) == true)
        }
    }

    @Test func anAddressThatIsTakenIsSaid() async throws {
        try await withTemporaryDirectory { directory in
            let web = try await WebProcess(in: directory, "\(directory)/none")
            let result = try await BuiltProduct.web.run(["--listen", "unix:\(web.path)"])
            #expect(result.status == .exited(1))
            #expect(result.errors.contains("something listens there already"))
            #expect(try await web.end() == 0)
            #expect(access(web.path, F_OK) != 0)
        }
    }

    /// Connecting there fails, and not because nobody listens.
    @Test func aSocketThatMayBeInUseStays() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/socket"
            let other = try Descriptor.socket(
                named: "other",
                at: path,
                type: SOCK_DGRAM,
                listening: false
            )
            let result = try await BuiltProduct.web.run([
                "--listen", "unix:\(path)", "--runtime-directory", "\(directory)/none",
            ])
            #expect(result.status == .exited(1))
            #expect(result.errors.contains("give another --listen"))
            #expect(access(path, F_OK) == 0)
            withExtendedLifetime(other) {}
        }
    }
}
#endif
