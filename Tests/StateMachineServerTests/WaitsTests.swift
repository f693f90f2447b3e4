import Glibc
import NIOCore
import NIOPosix
import StateMachineCore
import StateMachineProtocol
import TestSupport
import Testing

@testable import StateMachineServer

/// Waits are judged in their own connection's turn.
@Suite(.bounded)
struct WaitsTests {
    /// One of a state's name, one of an integer, which no table finds, and one of all but a state.
    @Test(arguments: ["locked", "open:degrees=7", "!closed"])
    func anIdleWaitIsNotJudgedOnASettersTime(pattern: String) async throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let client = ends[1]
        defer { close(client) }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let bell = try await LoopBell.make(on: group)
        let machine = StateMachine<DoorState>()
        let server = try await loop.submit {
            StateServer(
                machine: ServedMachine(machine.machine, schema: EnumSchema<DoorState>(), on: loop),
                loop: loop,
                limits: ServerLimits(),
                bell: bell.value
            )
        }.get()
        let channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.addConnection(at: .control, of: server)
                }
            }
            .withConnectedSocket(ends[0]).get()
        let line = #"{"op":"wait","id":1,"until":[""# + pattern + "\"]}\n{\"op\":\"ping\"}\n"
        #expect(send(client, line, line.utf8.count, 0) == line.utf8.count)
        // The wait is kept once what follows it is answered.
        #expect(self.line(from: client).contains(#""seq":0"#))
        try await loop.submit {
            let waits = try #require(server.clients.first { _ in true }).parts.waits
            #expect(!waits.areBehind)
            for _ in 0..<100 {
                machine.state = .open(degrees: 7)
                machine.state = .closed
                machine.state = .locked(by: "x")
                machine.state = .closed
            }
            server.catchUp()
            // All changes are there, and the wait has not been compared with one of them.
            #expect(server.ring.head == 400)
            #expect(waits.count == 1)
            #expect(waits.areBehind)
        }.get()
        // In its turn it is, with the first of them that ends it.
        let answer = self.line(from: client)
        #expect(answer.contains(#""matched":""# + pattern))
        #expect(answer.contains(pattern == "locked" ? #""seq":3,"# : #""seq":1,"#))
        try await channel.close()
        try await loop.submit { server.stop() }.get()
        try await group.shutdownGracefully()
    }

    private func line(from client: CInt) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
