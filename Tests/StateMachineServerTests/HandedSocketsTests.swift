import StateMachineProtocol
import Systemd
import Testing

@testable import StateMachineServer

/// Which descriptors are doors, which are the store's, and which are neither.
struct HandedSocketsTests {
    private func sorted(
        _ items: [(name: String, kind: DescriptorKind)]
    ) throws(DaemonError) -> HandedSockets {
        let handed = items.enumerated().map { index, item in
            HandedDescriptor(name: item.name, descriptor: CInt(index))
        }
        return try HandedSockets(handed, kind: { items[Int($0)].kind })
    }

    @Test
    func whatASocketUnitMeantIsADoorOrAnError() throws {
        let sorted = try self.sorted([("events", .listening(path: "/run/e"))])
        #expect(sorted.doors[.events]?.path == "/run/e")
        #expect(sorted.doors[.control] == nil)
        for kind in [DescriptorKind.listening(path: "/x"), .bound("a datagram socket")] {
            #expect(throws: DaemonError.self) { try self.sorted([("other", kind)]) }
        }
        for kind in [DescriptorKind.connected, .noSocket, .closed, .loose("?"), .bound("?")] {
            #expect(throws: DaemonError.self) { try self.sorted([("control", kind)]) }
        }
        let error = #expect(throws: DaemonError.self) {
            try self.sorted([("control", .connected)])
        }
        #expect(error?.exitStatus == 78)
    }

    @Test
    func whatNoSocketUnitCanHaveMeantIsGarbage() throws {
        let sorted = try self.sorted([
            ("stored", .noSocket), ("connection", .connected), ("handover", .noSocket),
            ("probe", .noSocket), ("other", .connected), ("connection", .noSocket),
        ])
        #expect(sorted.doors.isEmpty)
        #expect(sorted.connections == [1, 5])
        #expect(sorted.records == [2])
        #expect(sorted.garbage.map(\.name) == ["stored", "probe", "other"])
    }
}
