import Glibc
import Systemd
import Testing

/// What a descriptor is, according to the kernel.
struct DescriptorKindTests {
    private func kind(_ descriptor: CInt) -> DescriptorKind {
        defer { close(descriptor) }
        return DescriptorKind(of: descriptor)
    }

    @Test func socketsAreTold() {
        let stream = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        var pair: [CInt] = [-1, -1]
        #expect(socketpair(AF_UNIX, stream, 0, &pair) == 0)
        #expect(self.kind(pair[0]) == .connected)
        close(pair[1])
        #expect(
            self.kind(socket(AF_UNIX, stream, 0))
                == .loose("a Unix stream socket that does not listen")
        )
        let listening = socket(AF_INET, stream, 0)
        #expect(listen(listening, 1) == 0)
        #expect(self.kind(listening) == .bound("an IPv4 stream socket that listens"))
    }

    @Test func whatIsNoSocketIsTold() {
        #expect(self.kind(open("/dev/null", O_RDONLY | O_CLOEXEC)) == .noSocket)
        #expect(DescriptorKind(of: -1) == .closed)
    }
}
